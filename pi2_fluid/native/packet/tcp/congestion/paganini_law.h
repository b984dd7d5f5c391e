/* What configures Paganini's source, and the equations that its packets share with its fluid: see paganini.c. */
#pragma once

#include <math.h>

#include "parameters.h"

#define PI2_PAGANINI_FIELDS(F) \
    F(alpha)        /* gain on the price */ \
    F(beta)         /* gain of the utility */ \
    F(k)            /* size of the utility */ \
    F(fairness)     /* exponent of its slope */ \
    F(links)        /* on the path, with a price */ \
    F(phi)          /* base of the marking probability */ \
    F(largest_rate) /* of a static one: segments/s at a price of 0; 0: it has a utility */

typedef struct {
    PI2_PAGANINI_FIELDS(PI2_FIELD)
} pi2_paganini;

/* The price (s) that a probability of marks says, equation (21). Near 1, what is left unmarked is lost in rounding. */
static inline double pi2_paganini_price(const pi2_paganini *p, double signal)
{
    const double certain = 1.0 - 1e-15;
    return -log1p(-(signal < certain ? signal : certain)) / log(p->phi);
}

/* By whose exponential a price (s) lowers the rate at once, equation (20). */
static inline double pi2_paganini_damping(const pi2_paganini *p, double price, double rtt)
{
    return p->alpha * price / (p->links * rtt);
}

/* The price (s) at which it is content with a rate (segments/s): the slope of its utility. */
static inline double pi2_paganini_wanted(const pi2_paganini *p, double rate)
{
    return p->k / pow(rate, p->fairness);
}
