/* What a controller does at a frequency, and at most beyond one: for the loops that it is part of. Pure C11. */
#pragma once

#include "margins/search/controller.h"
#include "margins/search/curve.h"
#include "margins/search/numbers.h"

/* By how much it is late: T/2 (s), if it is delayed. */
double pi2_controller_lag(const pi2_controller *controller);

/* Where frequencies end: pi/T if it is sampled, else infinity. */
double pi2_controller_end(const pi2_controller *controller);

/* An upper bound of |L| from w on, up to pi/T if it is sampled, of a bound of |G(jv)|, v >= w, that falls like 1/v^falls. */
double pi2_controlled_bound(const pi2_controller *controller, double w, double plant, int falls);

/* Its denominator. */
pi2_curve pi2_controller_denominator(const pi2_controller *controller);

/* What the polynomials are of: s unit, or 1 - e^{-jwT} without cancellation at low frequency. */
static inline number controller_variable(const pi2_controller *of, double w)
{
    if (of->update != PI2_SAMPLED)
        return (number){0.0, w * of->unit};
    const number half = turned(0.5 * w * of->interval);
    return (number){2.0 * half.im * half.im, -2.0 * half.im * half.re};
}

static inline number controller_top(const pi2_controller *of, number x)
{
    return polynomial(of->top, of->degree, x);
}

static inline number controller_bottom(const pi2_controller *of, number x)
{
    return polynomial(of->bottom, of->degree, x);
}

/* The coefficient of the highest power of s in its denominator. */
static inline double controller_leading(const pi2_controller *of)
{
    double leading = of->bottom[of->degree];
    for (int k = 0; k < of->degree; k++)
        leading *= of->unit;
    return leading;
}
