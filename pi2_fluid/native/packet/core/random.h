/* Random numbers by counting: number i of a stream is a function of (seed, stream, i) alone, so that the same seed
 * gives the same bytes on every machine, in any number of threads, and one more draw here shifts nothing there.
 *
 * The mixing function is that of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014; constants of Stafford's variant 13).
 */
#pragma once

#include <stdint.h>

static inline uint64_t pi2_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t pi2_random(uint64_t key, uint64_t index)
{
    return pi2_mix(key + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t pi2_stream_key(uint64_t seed, uint64_t stream)
{
    return pi2_random(pi2_mix(seed + UINT64_C(0x632be59bd9b4e019)), stream);
}

/* Uniform on [0, below), for `below` up to 2^32: the bias is less than 2^-32. */
static inline uint64_t pi2_random_below(uint64_t key, uint64_t index, uint64_t below)
{
    return ((pi2_random(key, index) >> 32) * below) >> 32;
}

/* Of 64 random bits a number, uniform on [0, 1) in steps of 2^-53. */
static inline double pi2_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* Below what 64 random bits are with probability p; at 1 nearly. */
static inline uint64_t pi2_bits_below(double p)
{
    return p >= 1.0 ? UINT64_MAX : p > 0.0 ? (uint64_t)(p * 0x1p64) : 0;
}

/* What a queue draws to judge one packet: up to two numbers, the same ones whether or not both are asked for. A test
 * may give the numbers instead: then they are consumed one by one, as a kernel's own generator is. */
typedef struct {
    uint64_t key[2]; /* of the streams of the first and the second draw */
    uint64_t index;  /* number of the packet judged */
    const uint64_t *given;
    uint64_t used;   /* how many were drawn (of the given ones, if there are any) */
} pi2_draws;

static inline uint64_t pi2_draw(pi2_draws *draws, int which)
{
    const uint64_t used = draws->used++;
    return draws->given ? draws->given[used] : pi2_random(draws->key[which], draws->index);
}
