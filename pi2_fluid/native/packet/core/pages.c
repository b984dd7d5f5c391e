/* Pages of memory, of which C knows nothing. */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "packet/core/pages.h"

#include <stdint.h>

#if defined(__linux__) && defined(MADV_HUGEPAGE)
void pi2_large_pages(void *memory, size_t bytes)
{
    const uintptr_t large = (uintptr_t)1 << 21, begin = (uintptr_t)memory;
    const uintptr_t from = (begin + large - 1) & ~(large - 1), to = (begin + bytes) & ~(large - 1);
    if (from < to)
        (void)madvise((unsigned char *)memory + (from - begin), to - from, MADV_HUGEPAGE); /* a wish, no more */
}
#else
void pi2_large_pages(void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}
#endif
