/* What steps of any trajectory have in common: how long they are, and the cubic through their ends. */
#pragma once

#include "fluid/run.h"

/* What a step may be off by, as a part of the state. Steps of a fixed length have no tolerance, 0, but are cut where they
 * would be off by a tenth: beyond, what they do not follow grows from step to step. */
static inline double step_allowance(double tolerance)
{
    return tolerance > 0.0 ? tolerance : 0.1;
}

/* How near an image of a breakpoint is hit (s), of a delayed instant that moves with that speed: where the delay changes
 * much faster than time goes on, as where hardly anything is served, no nearer than the rounding of the time allows. */
static inline double step_nearness(double close, double t, double speed)
{
    const double rounded = 1e-15 * t * fabs(speed);
    return close > rounded ? close : rounded;
}

#define STEP_THIRD (1.0 / 3.0)

/* Kutta's three-eighths rule: where the slopes of the second, third and fourth stage are taken, after 1/3, 2/3 and all of
 * a step of length h, and where it leads. */
static inline double step_stage_2(double h, double y, double k1)
{
    return y + STEP_THIRD * h * k1;
}

static inline double step_stage_3(double h, double y, double k1, double k2)
{
    return (y - STEP_THIRD * h * k1) + h * k2;
}

static inline double step_stage_4(double h, double y, double k1, double k2, double k3)
{
    return (y + h * (k1 - k2)) + h * k3;
}

static inline double step_result(double h, double y, double k1, double k2, double k3, double k4)
{
    return y + h / 8.0 * ((k1 + 3.0 * (k2 + k3)) + k4);
}

/* Times h/24, with the slope k5 at the end of the step: the difference from a method of order 3. It sees the third
 * derivative of what is heard from the past, too, as four different instants do; of two stages in the middle of a step it
 * would say nothing. */
static inline double step_off(double k1, double k2, double k3, double k4, double k5)
{
    return (k1 - k2) + 2.0 * (k3 - k2) + (k3 - k5) + 3.0 * (k4 - k5);
}

/* Where a step of length h ends, as represented: else the error of the time adds up. */
static inline double step_end(double now, double h, double next)
{
    const double end = now + h;
    return fabs(end - next) <= SAME ? next : end;
}

/* The part of h with which a step fills what is `left`: two equal steps rather than a long and a tiny one. */
static inline double step_within(double h, double left)
{
    return h >= left ? left : 2.0 * h > left && 0.5 * left < h ? 0.5 * left : h;
}

/* How long the step is tried next that was rejected with an error (of order 4, in units of the tolerance) above 1. */
static inline double step_shortened(double h, double error)
{
    const double shrink = 0.9 / sqrt(sqrt(error));
    return h * (shrink > 0.2 ? shrink : 0.2);
}

/* How long the next step may be, from the error of one of length h that could have been as long as `proposal`: one
 * that was cut short for an image, and is too short for its error to say anything, makes those to come no shorter than
 * half of that. */
static inline double step_after(double h, double error, double proposal)
{
    double growth;
    if (error <= 0.0025) /* the factor would be more than 4 */
        return 4.0 * h > 0.5 * proposal ? 4.0 * h : 0.5 * proposal;
    growth = 0.9 / sqrt(sqrt(error));
    return h * (growth > 0.2 ? growth : 0.2);
}

/* The n components at a part of a step of length h, by their values and slopes at its ends. */
static inline void step_between(double part, double h, int n, const double *y0, const double *f0, const double *y1,
                                const double *f1, double *y)
{
    const double a = part, b = 1.0 - part;
    const double w0 = b * b * (1.0 + 2.0 * a), w1 = a * a * (3.0 - 2.0 * a), v0 = a * b * b * h, v1 = -a * a * b * h;
    for (int j = 0; j < n; j++)
        y[j] = w0 * y0[j] + w1 * y1[j] + v0 * f0[j] + v1 * f1[j];
}
