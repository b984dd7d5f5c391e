/* Random numbers for self-tests, the same in every run: even, or even in their logarithm. */
#pragma once

#include <math.h>
#include <stdint.h>

static uint64_t seed = 0x9e3779b97f4a7c15u;

static inline double uniform(double low, double high)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return low + (high - low) * ((double)(seed >> 11) * 0x1p-53);
}

static inline double spread(double low, double high)
{
    return exp(uniform(log(low), log(high)));
}

static inline int chance(double p)
{
    return uniform(0, 1) < p;
}

/* One of 0 .. n-1. */
static inline int pick(int n)
{
    return (int)uniform(0, n) % n;
}
