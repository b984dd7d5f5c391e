/* CPUID and XGETBV by ourselves: not every compiler's library fills in what __builtin_cpu_supports reads. zig's does not.
 * The bits are those of Intel's manual (Software Developer's Manual, volume 1, 14.3 and 15.2 to 15.4). */
#include "margins/vector/processor.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define BIT(n) ((uint32_t)1 << (n))

enum { FMA = 12, XGETBV = 27, AVX = 28 };                                  /* of ECX in leaf 1 */
enum { AVX2 = 5, AVX512F = 16, AVX512DQ = 17, AVX512BW = 30, AVX512VL = 31 }; /* of EBX in leaf 7 */
enum { KEPT_AVX = 0x06, KEPT_AVX512 = 0xe6 };                              /* of XCR0: SSE, AVX; masks, both parts of ZMM */

static int all_of(uint64_t word, uint64_t bits)
{
    return (word & bits) == bits;
}

int pi2_vectors_of(pi2_processor p)
{
    if (!all_of(p.leaf1_ecx, BIT(FMA) | BIT(XGETBV) | BIT(AVX)) || !all_of(p.xcr0, KEPT_AVX))
        return 0;
    const uint32_t wide = BIT(AVX512F) | BIT(AVX512DQ) | BIT(AVX512BW) | BIT(AVX512VL);
    return (all_of(p.leaf7_ebx, BIT(AVX2)) ? PI2_AVX2 : 0)
        | (all_of(p.leaf7_ebx, wide) && all_of(p.xcr0, KEPT_AVX512) ? PI2_AVX512 : 0);
}

static pi2_processor this_one(void)
{
    pi2_processor found = {0, 0, 0};
#if defined(__x86_64__)
    uint32_t eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        found.leaf1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        found.leaf7_ebx = ebx;
    if (found.leaf1_ecx & BIT(XGETBV)) {
        __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
        found.xcr0 = (uint64_t)edx << 32 | eax;
#if defined(__APPLE__)
        found.xcr0 |= KEPT_AVX512 & ~KEPT_AVX; /* macOS keeps these from their first use on, and says so only then */
#endif
    }
#endif
    return found;
}

int pi2_vectors(void)
{
    static atomic_int known = -1;
    int vectors = atomic_load_explicit(&known, memory_order_relaxed);
    if (vectors < 0) {
        vectors = pi2_vectors_of(this_one());
        atomic_store_explicit(&known, vectors, memory_order_relaxed);
    }
    return vectors;
}
