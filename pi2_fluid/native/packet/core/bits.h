/* What processors do in one instruction and C has no word for, with the compiler's help where there is any. */
#pragma once

#include <stdint.h>

/* A function that is kept out of those that call it: they are shorter where it is not needed. */
#if defined(__GNUC__)
#define PI2_APART __attribute__((noinline))
#else
#define PI2_APART
#endif

/* Number of the lowest bit that is set; `bits` must not be 0. */
static inline unsigned pi2_lowest_bit(uint64_t bits)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(bits);
#else
    unsigned n = 0;
    while (!(bits >> n & 1))
        n++;
    return n;
#endif
}

/* Number of the highest bit that is set; `bits` must not be 0. */
static inline unsigned pi2_highest_bit(uint64_t bits)
{
#if defined(__GNUC__)
    return 63u - (unsigned)__builtin_clzll(bits);
#else
    unsigned n = 63;
    while (!(bits >> n & 1))
        n--;
    return n;
#endif
}

/* The bytes at `address` will be needed soon. */
static inline void pi2_prefetch(const void *address)
{
#if defined(__GNUC__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}
