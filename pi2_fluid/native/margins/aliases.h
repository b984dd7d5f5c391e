/* Inside the sums over aliases: lines of them, and what is known of all at once. */
#pragma once

#include <math.h>
#include <stddef.h>

#include "elementary.h"

/* Aliases at once, real and imaginary parts apart: loops over them are what a compiler makes vector code of. */
#define LANES 16

typedef struct {
    double re[LANES], im[LANES];
} line;

typedef struct {
    double re, im;
} number;

/* e^{-s delay} */
static inline number late(const double *s, double delay)
{
    const double size = s[0] != 0.0 ? exp(-s[0] * delay) : 1.0, angle = -s[1] * delay;
    return (number){size * cos(angle), size * sin(angle)};
}

static inline number times(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* What the sum over all k of e^{-s_k delay} times order[0]/(s_k + rate)^2 + order[1]/(s_k + rate)^3
 * + order[2]/(s_k + rate)^4, over T, takes that does not depend on s: with n = delay/T and x = rate T it is the sum over
 * m >= n of the same orders of (m - n)^{1, 2, 3}/{1, 2, 6} e^{-x (m - n)} y^m, y = e^{-sT}. */
typedef struct {
    double first; /* s: the first m >= n, times T */
    double decay; /* e^{-x} */
    double on[4]; /* of the sums over m >= 0 of m^{0, 1, 2, 3} q^m, q = e^{-x} y */
} held;

static inline held hold(double T, double delay, double rate, const double *order)
{
    const double first = ceil(delay / T), d = first - delay / T, x = rate * T, fall = exp(-x * d);
    const double a = fall * order[0] * T, b = fall * order[1] * T * T / 2.0, c = fall * order[2] * T * T * T / 6.0;
    return (held){first * T, exp(-x),
                  {d * (a + d * (b + d * c)), a + d * (2.0 * b + d * 3.0 * c), b + d * 3.0 * c, c}};
}

static inline number held_sum(const double *s, const held *p, number y)
{
    const number q = {p->decay * y.re, p->decay * y.im};
    const double size = 1.0 / ((1.0 - q.re) * (1.0 - q.re) + q.im * q.im);
    const number one = {size * (1.0 - q.re), size * q.im}, square = times(one, one), two = times(q, square);
    const number three = times(times(two, (number){1.0 + q.re, q.im}), one);
    const number most = times(q, (number){4.0 + q.re, q.im});
    const number four = times(times(two, (number){1.0 + most.re, most.im}), square);
    const number sum = {p->on[0] * one.re + p->on[1] * two.re + p->on[2] * three.re + p->on[3] * four.re,
                        p->on[0] * one.im + p->on[1] * two.im + p->on[2] * three.im + p->on[3] * four.im};
    return times(sum, late(s, p->first));
}

/* e^{-2 pi j k x} for all aliases, line by line from k = -count - 1 on: the factor by which aliases differ in a delay.
 * Of k x the whole turns are taken off while it is exact enough to: k is small, x is rounded once. */
static inline void turns(double x, size_t count, size_t lines, line *to)
{
    for (size_t i = 0; i < lines * LANES; i++) {
        const double k = (double)i - (double)count - 1.0, turn = k * x, rest = turn - round(turn);
        to[i / LANES].re[i % LANES] = cos(2.0 * PI2_PI * rest);
        to[i / LANES].im[i % LANES] = -sin(2.0 * PI2_PI * rest);
    }
}

/* Lanes beyond the last alias do not count. */
static inline void add_up(const line *values, size_t lanes, double *sum)
{
    double re = 0.0, im = 0.0;
    for (size_t i = 0; i < lanes; i++) {
        re += values->re[i];
        im += values->im[i];
    }
    sum[0] += re;
    sum[1] += im;
}

static inline size_t lines_of(size_t aliases)
{
    return (aliases + LANES - 1) / LANES;
}

static inline size_t lanes_of(size_t aliases, size_t at)
{
    return aliases - at * LANES < LANES ? aliases - at * LANES : LANES;
}
