/* The mathematics of one point of ack_margins.h: ln |L|, the phase of L, and where to look for their zeros.
 *
 * `reduces` is a constant at every call. Nothing here branches on data, so that loops over these functions become vector
 * code. */
#pragma once

#include "elementary.h"

/* What gain and phase have in common. */
typedef struct {
    double half, other;        /* sin(v/2), cos(v/2) */
    double lead, height;       /* c v and |a + j c v|^2 */
    double dr, di, size;       /* dr + j di = jv + own + cut P, and its |.|^2 */
    double slope_re, slope_im; /* of its logarithm over ln v */
} pi2_ack_parts;

PI2_INLINE pi2_ack_parts pi2_ack_parts_at(double a, double c, double own, double cut, double v)
{
    double half, other;
    pi2_sincos(0, 0.5 * v, &half, &other);
    const double unit = 1.0 / v, sine = 2.0 * half * other, re = sine * unit, im = -2.0 * half * half * unit; /* P */
    const double dr = own + cut * re, di = v + cut * im, size = dr * dr + di * di;
    /* v dP/dv = e - P, e = e^{-jv} */
    const double moves_re = cut * (1.0 + im * v - re), moves_im = v - cut * (sine + im), lead = c * v, one = 1.0 / size;
    const pi2_ack_parts found = {half, other, lead, a * a + lead * lead, dr, di, size,
                                 one * (moves_re * dr + moves_im * di), one * (moves_im * dr - moves_re * di)};
    return found;
}

/* 20 log10 |L|; the slope is that of ln |L| over ln v. */
PI2_INLINE double pi2_ack_gain(const int reduces, double gain, double a, double c, double own, double cut, double v,
                               double *slope)
{
    const pi2_ack_parts at = pi2_ack_parts_at(a, c, own, cut, v);
    const double reduced = reduces ? 2.0 * at.half * gain : v * gain;
    double num, den, exponent;
    pi2_decibels_reduce(reduced * reduced * at.height, v * v * (v * v) * at.size, &num, &den, &exponent);
    *slope = at.lead * at.lead / at.height - 1.0 - at.slope_re;
    *slope += reduces ? 0.5 * v * at.other / at.half - 1.0 : 0.0; /* of |P| = sin(v/2)/(v/2) */
    return 0.5 * pi2_decibels_finish(num / den, exponent);
}

/* The phase of L above -180 degrees (rad); the slope is its own over ln v. */
PI2_INLINE double pi2_ack_phase(const int reduces, double a, double c, double own, double cut, double delay, double v,
                                double *slope)
{
    const pi2_ack_parts at = pi2_ack_parts_at(a, c, own, cut, v);
    const double late = (reduces ? delay + 0.5 : delay) * v;
    /* atan(lead/a) + atan(dr/di), both from 0 to 90 degrees */
    const double y = at.lead * at.di + a * at.dr, x = a * at.di - at.lead * at.dr;
    double num, den, base;
    pi2_atan2_reduce(y, x, &num, &den, &base);
    *slope = a * at.lead / at.height - at.slope_im - late;
    return pi2_atan2_finish(y, x, num / den, base) - late;
}

/* The positive root of k2 x^2 + k1 x - k0, k0 > 0, without cancellation; where there is none, any number. */
PI2_INLINE double pi2_ack_root(double k2, double k1, double k0)
{
    const double square = k1 * k1 + 4.0 * k2 * k0, root = sqrt(square > 0.0 ? square : 0.0);
    return (k1 > 0.0 ? 2.0 * k0 : root - k1) / (k1 > 0.0 ? k1 + root : 2.0 * k2);
}

/* Within what Newton's method starts from. */
PI2_INLINE double pi2_ack_start(double square)
{
    const double v = sqrt(square > 1e-18 ? square : 1e-18);
    return v < 3.0 ? v : 3.0;
}

/* Near the gain crossover: with P = 1 it is the root of a quadratic in v^2. */
PI2_INLINE double pi2_ack_gain_start(double gain, double a, double c, double own, double cut)
{
    const double pole = own + cut, square = gain * gain;
    return pi2_ack_start(pi2_ack_root(1.0, pole * pole - square * c * c, square * a * a));
}

/* Near the phase crossover: likewise, with tan x = x/(1 - 4 x^2/pi^2) for the delay's part x. */
PI2_INLINE double pi2_ack_phase_start(const int reduces, double a, double c, double own, double cut, double delay)
{
    const double pole = own + cut, late = reduces ? delay + 0.5 : delay;
    const double bend = late * late * (4.0 / (PI2_PI * PI2_PI));
    return pi2_ack_start(pi2_ack_root(c * bend, late * (a - c * pole) + a * pole * bend - c, a * pole));
}
