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

/* The same of four delays at once. */
static inline void late_four(const double *s, const double *delay, number *to)
{
    double sine[4], cosine[4];
    int far = s[0] != 0.0;
    for (int i = 0; i < 4; i++)
        far |= fabs(s[1] * delay[i]) > PI2_SINCOS_LIMIT;
    for (int i = 0; i < 4; i++)
        pi2_sincos(0, -s[1] * delay[i], &sine[i], &cosine[i]);
    for (int i = 0; i < 4; i++)
        to[i] = far ? late(s, delay[i]) : (number){cosine[i], sine[i]};
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

/* `first` is e^{-s first}. */
static inline number held_sum(const held *p, number y, number first)
{
    const number q = {p->decay * y.re, p->decay * y.im};
    const double size = 1.0 / ((1.0 - q.re) * (1.0 - q.re) + q.im * q.im);
    const number one = {size * (1.0 - q.re), size * q.im}, square = times(one, one), two = times(q, square);
    const number three = times(times(two, (number){1.0 + q.re, q.im}), one);
    const number most = times(q, (number){4.0 + q.re, q.im});
    const number four = times(times(two, (number){1.0 + most.re, most.im}), square);
    const number sum = {p->on[0] * one.re + p->on[1] * two.re + p->on[2] * three.re + p->on[3] * four.re,
                        p->on[0] * one.im + p->on[1] * two.im + p->on[2] * three.im + p->on[3] * four.im};
    return times(sum, first);
}

/* e^{-2 pi j k x} for all aliases, line by line from k = -count - 1 on: the factor by which aliases differ in a delay; 0
 * in lanes beyond the last one. Of k x the whole turns are taken off while it is exact enough to: k is small, x is rounded once. */
static inline void turns(double x, size_t count, size_t lines, line *to)
{
    const double whole = 0x1.8p52;
    for (size_t at = 0; at < lines; at++)
        for (int i = 0; i < LANES; i++) {
            const double k = (double)(at * LANES) - ((double)count + 1.0) + (double)i, turn = k * x;
            const double rest = turn - ((turn + whole) - whole);
            double sine, cosine;
            pi2_sincos(0, 2.0 * PI2_PI * rest, &sine, &cosine);
            to[at].re[i] = k <= (double)count ? cosine : 0.0;
            to[at].im[i] = k <= (double)count ? -sine : 0.0;
        }
}

/* The sum of all lanes. */
static inline number add_up(line *values)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) {
            values->re[i] += values->re[i + half];
            values->im[i] += values->im[i + half];
        }
    return (number){values->re[0], values->im[0]};
}

static inline size_t lines_of(size_t aliases)
{
    return (aliases + LANES - 1) / LANES;
}

static inline size_t lanes_of(size_t aliases, size_t at)
{
    return aliases - at * LANES < LANES ? aliases - at * LANES : LANES;
}
