/* What configures Cubic's law, and what signals do to it: see cubic.c. */
#pragma once

#include <math.h>

#include "parameters.h"

#define PI2_CUBIC_FIELDS(F) \
    F(increase) /* segments per round trip by which the Reno-friendly estimate grows */ \
    F(c)        /* segments/s^3 */ \
    F(decrease) /* fraction of the window removed per signal */

typedef struct {
    PI2_CUBIC_FIELDS(PI2_FIELD)
} pi2_cubic;

enum { PI2_CUBIC_WINDOW, PI2_CUBIC_W_MAX, PI2_CUBIC_EPOCH, PI2_CUBIC_VARIANCE, PI2_CUBIC_STATES };

/* The mean of a linear epoch, in parts of w_max. */
static inline double pi2_cubic_mean(const pi2_cubic *p)
{
    return 1.0 - p->decrease / 2.0;
}

/* Segments per second gained by the cubic. */
static inline double pi2_cubic_growth(const pi2_cubic *p, const double *x)
{
    const double late = x[PI2_CUBIC_EPOCH] - cbrt(p->decrease * x[PI2_CUBIC_W_MAX] / p->c);
    return p->c * (3.0 * late * late + x[PI2_CUBIC_VARIANCE]);
}

/* What signals per second change, beside the growth of the cubic or the friendly estimate; returns the cut of the
 * window apart from that. */
static inline double pi2_cubic_moves(const pi2_cubic *p, const double *x, double signals, double friendly, double *dx)
{
    const double steep = pi2_cubic_growth(p, x), peak = x[PI2_CUBIC_WINDOW] / pi2_cubic_mean(p);
    dx[PI2_CUBIC_WINDOW] = steep > friendly ? steep : friendly;
    dx[PI2_CUBIC_W_MAX] = (peak - x[PI2_CUBIC_W_MAX]) * signals;
    dx[PI2_CUBIC_EPOCH] = 1.0 - x[PI2_CUBIC_EPOCH] * signals;
    dx[PI2_CUBIC_VARIANCE] = (x[PI2_CUBIC_EPOCH] * x[PI2_CUBIC_EPOCH] - x[PI2_CUBIC_VARIANCE]) * signals;
    return p->decrease * peak * signals;
}

/* What `acks` and `marks` per second change of every state per second, and return: the cut apart from it. */
static inline double pi2_cubic_acked(const pi2_cubic *p, const double *x, double acks, double marks, double *dx)
{
    return pi2_cubic_moves(p, x, marks, p->increase * acks / x[PI2_CUBIC_WINDOW], dx);
}
