/* Elementary functions for loops that a compiler turns into vector code.
 *
 * Branch-free, no library call, no table. Every polynomial is a minimax fit (Remez exchange, 50 digits,
 * then rounded) of the relative error stated beside it, before rounding errors of about one ulp.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define PI2_INLINE static inline __attribute__((always_inline))
#else
#define PI2_INLINE static inline
#endif

#define PI2_PI 3.14159265358979323846
#define PI2_SIGN_BIT 0x8000000000000000u

PI2_INLINE uint64_t pi2_bits(double x)
{
    uint64_t i;
    memcpy(&i, &x, sizeof i);
    return i;
}

PI2_INLINE double pi2_double(uint64_t i)
{
    double x;
    memcpy(&x, &i, sizeof x);
    return x;
}

/* Reciprocal square root to 0.2 %: halving the exponent bits, then one Newton step. */
PI2_INLINE double pi2_rough_rsqrt(double x)
{
    const double y = pi2_double(0x5fe6eb50c7b537a9u - (pi2_bits(x) >> 1));
    return y * (1.5 - 0.5 * x * y * y);
}

/* Reciprocal to 0.3 %: negating the exponent bits, then one quadratic correction. */
PI2_INLINE double pi2_rough_reciprocal(double x)
{
    const double y = pi2_double(0x7fde623822fc16e6u - pi2_bits(x));
    const double e = 1.0 - x * y;
    return y + y * (e + e * e);
}

/* Square root to 3.5 %, x^(5/16) to 4 %: the same with the exponent bits alone. */
PI2_INLINE double pi2_rough_sqrt(double x)
{
    return pi2_double((pi2_bits(x) >> 1) + 0x1ff76cf5ae736f53u);
}

PI2_INLINE double pi2_rough_5_16(double x)
{
    const uint64_t i = pi2_bits(x);
    return pi2_double((i >> 2) + (i >> 4) + 0x2bf486c1e1744f4bu);
}

/* A family of entire functions of z = x^2, each a step of the same recurrence:
 *   s0 = sin x / x,   s1 = (s0 - cos x) / z,   s2 = (3 s1 - s0) / z,   so that
 *   cos x = s0 - z s1,   d cos x/dz = -s0/2,   ds0/dz = -s1/2,   ds1/dz = -s2/2.
 * Valid for 0 <= z <= (pi/2)^2, relative error 3e-19, 3e-17 and 4e-10 (s2 only steers iterations). */
PI2_INLINE double pi2_s0(double z)
{
    double p = 0x1.8827f99fceb7ap-49;
    p = p * z - 0x1.ae430e2515e79p-41;
    p = p * z + 0x1.6123caeef65c5p-33;
    p = p * z - 0x1.ae6454ca75daap-26;
    p = p * z + 0x1.71de3a5285e7ap-19;
    p = p * z - 0x1.a01a01a014878p-13;
    p = p * z + 0x1.11111111110c1p-7;
    p = p * z - 0x1.5555555555555p-3;
    return p * z + 1.0;
}

PI2_INLINE double pi2_s1(double z)
{
    double p = -0x1.883dcd5f5558cp-45;
    p = p * z + 0x1.787bed3b581bdp-37;
    p = p * z - 0x1.08dade90f7179p-29;
    p = p * z + 0x1.0cfeb51d0d54ap-22;
    p = p * z - 0x1.71de3a531b22bp-16;
    p = p * z + 0x1.3813813810ceap-10;
    p = p * z - 0x1.11111111110efp-5;
    return p * z + 0x1.5555555555555p-2;
}

PI2_INLINE double pi2_s2(double z)
{
    double p = 0x1.3d9a81d69f803p-26;
    p = p * z - 0x1.0cc446b3ce5dep-19;
    p = p * z + 0x1.1565db4df7a59p-13;
    p = p * z - 0x1.38137f2bcb8c7p-8;
    return p * z + 0x1.1111110f665eap-4;
}

/* The same to 1e-6, 2e-7 and 2e-3, for the first step of an iteration. */
PI2_INLINE double pi2_rough_s0(double z)
{
    double p = -0x1.83b5c5be16eadp-13;
    p = p * z + 0x1.105d1575c042fp-7;
    p = p * z - 0x1.554f7db8bab46p-3;
    return p * z + 0x1.ffffe06d49723p-1;
}

PI2_INLINE double pi2_rough_s1(double z)
{
    double p = -0x1.5d5b44554aecdp-16;
    p = p * z + 0x1.37935a912daa2p-10;
    p = p * z - 0x1.110f08d8fd133p-5;
    return p * z + 0x1.5555500e31edep-2;
}

PI2_INLINE double pi2_rough_s2(double z)
{
    return 0x1.10a3e7ab7949fp-4 - 0x1.2300b3f9e378ap-8 * z;
}

/* sin and cos for |x| < PI2_SINCOS_LIMIT: x - k pi by Cody and Waite in three parts (the first two have
 * 33 bits, so that k times them is exact), absolute error below 3e-16, or 2e-6 if rough. */
#define PI2_SINCOS_LIMIT 1e5
PI2_INLINE void pi2_sincos(const int rough, double x, double *sine, double *cosine)
{
    const double shift = 0x1.8p52;
    const double t = x * (1.0 / PI2_PI) + shift; /* the low bits of t are k */
    const double k = t - shift;
    const uint64_t flip = pi2_bits(t) << 63; /* (-1)^k */
    const double high = x - k * 0x1.921fb544p+1;
    const double y = rough ? high - k * 0x1.0b4611a62633ap-33
                           : (high - k * 0x1.0b4611a6p-33) - k * 0x1.3198a2e037073p-68;
    const double z = y * y;
    const double s0 = rough ? pi2_rough_s0(z) : pi2_s0(z);
    const double s1 = rough ? pi2_rough_s1(z) : pi2_s1(z);
    *sine = pi2_double(pi2_bits(y * s0) ^ flip);
    *cosine = pi2_double(pi2_bits(s0 - z * s1) ^ flip);
}

/* atan2(y, x), not both zero. The quotient of the smaller by the larger coordinate is turned back by pi/4
 * when it exceeds tan(pi/8); num and den are returned so that the caller can share one division. */
PI2_INLINE void pi2_atan2_reduce(double y, double x, double *num, double *den, double *base)
{
    const double ay = fabs(y), ax = fabs(x);
    const double small = ay < ax ? ay : ax, large = ay < ax ? ax : ay;
    const int turn = small > 0x1.a827999fcef32p-2 * large;
    *num = turn ? small - large : small;
    *den = turn ? small + large : large;
    *base = turn ? PI2_PI / 4 : 0.0;
}

PI2_INLINE double pi2_atan2_finish(double y, double x, double quotient, double base)
{
    const double q = quotient, t = q * q;
    double p = 0x1.5c0ea76f4f839p-6;
    p = p * t - 0x1.64fd7ce64ee53p-5;
    p = p * t + 0x1.d24bd1cbd4165p-5;
    p = p * t - 0x1.1004518417585p-4;
    p = p * t + 0x1.3afc1c4319ffap-4;
    p = p * t - 0x1.745bc170dccb0p-4;
    p = p * t + 0x1.c71c65bcdf42cp-4;
    p = p * t - 0x1.2492490544a91p-3;
    p = p * t + 0x1.9999999948cedp-3;
    p = p * t - 0x1.5555555555313p-2;
    double r = base + (q + q * (t * p));
    r = fabs(y) < fabs(x) ? r : PI2_PI / 2 - r;
    r = x < 0.0 ? PI2_PI - r : r;
    return pi2_double(pi2_bits(r) | (pi2_bits(y) & PI2_SIGN_BIT));
}

/* 20 log10(over/under), both positive and normal, in two parts as above: the integer difference of the bit
 * patterns, rounded to a whole exponent, brings the ratio within 1.52 of 1; then atanh of num/den. */
PI2_INLINE void pi2_decibels_reduce(double over, double under, double *num, double *den, double *exponent)
{
    const uint64_t bias = (uint64_t)1024 << 52, half = (uint64_t)1 << 51;
    const uint64_t t = pi2_bits(over) - pi2_bits(under) + (bias + half);
    const double scaled = pi2_double(pi2_bits(under) + (t & 0xfff0000000000000u) - bias);
    *exponent = pi2_double((t >> 52) | 0x4330000000000000u) - (0x1p52 + 1024.0);
    *num = over - scaled;
    *den = over + scaled;
}

PI2_INLINE double pi2_decibels_finish(double quotient, double exponent)
{
    const double q = quotient, t = q * q;
    double p = 0x1.3e3589a505ee0p-4;
    p = p * t + 0x1.37e081908a853p-4;
    p = p * t + 0x1.747a8556dce91p-4;
    p = p * t + 0x1.c71bdf9ff7b71p-4;
    p = p * t + 0x1.249249e20f0dbp-3;
    p = p * t + 0x1.99999998bb344p-3;
    p = p * t + 0x1.55555555557c3p-2;
    return exponent * 6.0205999132796239 + (q + q * (t * p)) * 17.371779276130073;
}
