/* Histograms of delays: which bucket a delay falls into, and where a bucket begins. */
#pragma once

#include "packet/core/bits.h"

/* Delays are counted in whole microseconds below 2^PI2_DELAY_BITS, from there on in 2^PI2_DELAY_BITS buckets for
 * each factor of 2: a relative width of 1.6 %. */
enum { PI2_DELAY_BITS = 6, PI2_DELAY_OCTAVE = 1 << PI2_DELAY_BITS, PI2_DELAY_BUCKETS = PI2_DELAY_OCTAVE * 24 };

/* Whole microseconds at first, then PI2_DELAY_BITS of the mantissa; the last bucket holds all that is beyond. */
static inline unsigned pi2_delay_bucket(int64_t ns)
{
    const uint64_t us = (uint64_t)ns / 1000;
    const unsigned high = pi2_highest_bit(us | 1), shift = high > PI2_DELAY_BITS ? high - PI2_DELAY_BITS : 0;
    const unsigned bucket = (shift << PI2_DELAY_BITS) + (unsigned)(us >> shift);
    return bucket < PI2_DELAY_BUCKETS ? bucket : PI2_DELAY_BUCKETS - 1;
}

/* Lower edge of a bucket, s. */
static inline double pi2_delay_edge(int bucket)
{
    const int half = 1 << PI2_DELAY_BITS;
    int shift = bucket / half - 1;
    if (shift < 0)
        shift = 0;
    return (double)(bucket - shift * half) * (double)(UINT64_C(1) << shift) * 1e-6;
}
