/* Complex numbers inside the search, one at a time. */
#pragma once

#include <math.h>

#include "elementary.h"

typedef struct {
    double re, im;
} number;

static inline number times(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline number plus(number a, number b)
{
    return (number){a.re + b.re, a.im + b.im};
}

static inline number scaled(double factor, number a)
{
    return (number){factor * a.re, factor * a.im};
}

static inline number over(number a, number b)
{
    const double size = 1.0 / (b.re * b.re + b.im * b.im);
    return (number){size * (a.re * b.re + a.im * b.im), size * (a.im * b.re - a.re * b.im)};
}

/* e^{-j angle} */
static inline number turned(double angle)
{
    double sine, cosine;
    if (fabs(angle) < PI2_SINCOS_LIMIT) {
        pi2_sincos(0, angle, &sine, &cosine);
    } else {
        sine = sin(angle);
        cosine = cos(angle);
    }
    return (number){cosine, -sine};
}

static inline number polynomial(const double *coefficients, int degree, number x)
{
    number sum = {coefficients[degree], 0.0};
    for (int k = degree - 1; k >= 0; k--) {
        sum = times(sum, x);
        sum.re += coefficients[k];
    }
    return sum;
}

static inline void store(number value, double *to)
{
    to[0] = value.re;
    to[1] = value.im;
}
