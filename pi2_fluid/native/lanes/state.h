/* Inside the lanes kernel: what a block of runs is made of, and the laws. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lanes/row.h"

#if defined(__GNUC__) || defined(__clang__)
#define PI2_INLINE static inline __attribute__((always_inline))
#define PI2_ALIGNED __attribute__((aligned(64)))
#else
#define PI2_INLINE static inline
#define PI2_ALIGNED
#endif

#define V PI2_LANES
/* Loops over lanes hold no branch on data, so that compilers turn them into vector code. */
#define LANES for (int l = 0; l < V; l++)

typedef double lane[V] PI2_ALIGNED;
typedef int32_t index_lane[V] PI2_ALIGNED;

enum { NOW, MIDDLE, END, AHEAD }; /* instants of a step; AHEAD is END with windows that go on as they did */

/* One of the two parts of the past that a group hears in a step. */
typedef struct {
    lane weight, share, cell, per_rtt, per_rtt_then, signal[2];
    index_lane here, there;
} part;

typedef struct {
    int listens; /* some class of it has a window */
    lane base, rtt[3], per_rtt[3], per_rtt_ahead;
    part part[2];
} group;

typedef struct {
    lane start, gain, ramp, active, counts, count, number[3];
    lane x, moved, x1, middle;
    lane heard, expected, fixed, decay; /* of slow start: signals heard in the step and so far; x' = fixed - decay x */
    index_lane slow;
    int slowly; /* some lane is in slow start */
    lane more[PI2_LANES_STATES - 1], more1[PI2_LANES_STATES - 1]; /* states besides the window, and those to come */
} flows;

typedef struct {
    const pi2_lanes_problem *p;
    pi2_lanes_row row;
    double *past;
    double *room; /* what tapes work with */
    int32_t mask, stride;
    int ramps, thins; /* some flows start one after the other; some are thinned */
    size_t run[V];
    lane h, per_h, ticks, per_tick, alpha, beta, target, per_interval, limit, k, buffer, capacity, per_capacity, running, counted;
    lane queue, delay, before, u, u0, arrivals, growth, signal[2];
    lane turned, kept[3]; /* by how much u moved in the last step; what is left of thinned traffic */
    index_lane next_tick;
    lane law[PI2_LANES_STATES], lost, interval; /* of a queue as tapes: its state, what it lost, time between updates */
    lane sum[PI2_LANES_STATISTICS];
    lane each[PI2_LANES_CLASSES][PI2_LANES_CLASS_STATISTICS];
    flows f[PI2_LANES_CLASSES];
    group g[PI2_LANES_CLASSES];
} block;

PI2_INLINE double lower(double a, double b) { return a < b ? a : b; }
PI2_INLINE double higher(double a, double b) { return a > b ? a : b; }
PI2_INLINE double within(double x, double low, double high) { return lower(higher(x, low), high); }

PI2_INLINE double down(double x)
{
#ifdef __SSE4_1__
    return floor(x);
#else
    const double t = (x + 0x1.8p52) - 0x1.8p52; /* the nearest whole number, in vector code everywhere */
    return t > x ? t - 1.0 : t;
#endif
}

/* How far from its start a parabola turns back whose slopes are a and b at both ends (0: it does not). */
PI2_INLINE double excursion(double a, double b)
{
    const int turns = a * b < 0.0;
    return turns ? 0.5 * a * a / (turns ? a - b : 1.0) : 0.0;
}

PI2_INLINE double *row_of(const block *b, int32_t k, int field)
{
    return b->past + (size_t)(k & b->mask) * (size_t)b->stride + (size_t)field * V;
}

/* Which of the two signals a class of this kind is sent; they are one unless coupled. */
PI2_INLINE int signal_of(const block *b, const pi2_lanes_class *c)
{
    return pi2_lanes_has_two_signals(b->p) && c->scalable;
}

/* The factor on alpha and beta. */
PI2_INLINE void gain_factor(const block *b, const lane u, lane factor)
{
    const pi2_lanes_problem *p = b->p;
    LANES factor[l] = 1.0;
    if (p->tuning == PI2_LANES_ROOT)
        LANES factor[l] = sqrt(2.0 * u[l]);
    if (p->tuning == PI2_LANES_TABLE)
        for (int j = 0; j < p->edges; j++)
            LANES factor[l] = u[l] < p->edge[j] ? p->factor[j] : factor[l];
}

/* PIE's own: from u = 0.1 on an update adds no more than the cap, and above 0.25 s some more in any case. */
PI2_INLINE double temper(const pi2_lanes_problem *p, double u, double delay, double step)
{
    const double capped = (step > p->cap) & (u >= 0.1) ? p->cap : step;
    return capped + (delay > 0.25 ? p->boost : 0.0);
}

PI2_INLINE void encode(const block *b, const lane u, const int which, lane signal)
{
    if (which == 1)
        LANES {
            const double linear = b->k[l] * u[l];
            signal[l] = linear <= 1.0 + 1e-12 ? linear : 1.0;
        }
    else if (b->p->encoder == PI2_LANES_LINEAR)
        LANES signal[l] = u[l];
    else
        LANES signal[l] = u[l] * u[l];
}
