/* Preloaded into the guest's kernel: what it takes for chance from outside follows from $PI2_SEED (SplitMix64), and it ends
 * with whoever started it, however that ends. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>

__attribute__((constructor)) static void end_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static uint64_t next(void)
{
    static uint64_t state;
    static int seeded;
    if (!seeded) {
        const char *text = getenv("PI2_SEED");
        state = text ? strtoull(text, NULL, 10) * 0x9e3779b97f4a7c15u + 1 : 1;
        seeded = 1;
    }
    uint64_t bits = state += 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

ssize_t getrandom(void *into, size_t size, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)into)[i] = (uint8_t)next();
    return (ssize_t)size;
}
