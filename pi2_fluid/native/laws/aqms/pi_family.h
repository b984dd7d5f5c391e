/* The PI controller of the queue delay that pi, pie, pi2, coupled and dualpi2 share:
 *   u += alpha (delay - target) + beta (delay - delay before), every update interval.
 * PI2 paper (CoNEXT'16), equation (4); in continuous time its bilinear image, equation (29). */
#pragma once

#include "laws/aqm.h"

#define PI2_PI_FIELDS(F) \
    F(alpha)           /* Hz: change of u per second of delay error, at each update */ \
    F(beta)            /* Hz: change of u per second of delay change, at each update */ \
    F(target)          /* s */ \
    F(update_interval) /* s */ \
    F(limit)           /* the largest u */

typedef struct {
    PI2_PI_FIELDS(PI2_FIELD)
} pi2_pi_family;

#define PI2_COUPLED_OWN(F) F(k) /* coupling factor */
#define PI2_COUPLED_FIELDS(F) PI2_PI_FIELDS(F) PI2_COUPLED_OWN(F)

typedef struct {
    pi2_pi_family pi;
    PI2_COUPLED_OWN(PI2_FIELD)
} pi2_coupled;

enum { PI2_U, PI2_DELAY_BEFORE };

static inline double pi2_pi_step(const pi2_pi_family *p, double delay, double before)
{
    return p->alpha * (delay - p->target) + p->beta * (delay - before);
}

static inline double pi2_pi_slope(const pi2_pi_family *p, double delay, double d_delay)
{
    return p->alpha / p->update_interval * (delay - p->target) + (p->beta + p->alpha / 2) * d_delay;
}

static inline double pi2_pi_clip(const pi2_pi_family *p, double u)
{
    u = u > 0.0 || u != u ? u : 0.0;
    return u < p->limit || u != u ? u : p->limit;
}

/* Classic packets see u^2, Scalable ones min(k u, 1). */
static inline pi2_signal pi2_coupled_encode(const pi2_coupled *p, double u)
{
    const double linear = p->k * u;
    /* u = p/k times k may exceed p = 1 by a rounding error */
    const pi2_signal signal = {u * u, linear <= 1.0 + 1e-12 ? linear : 1.0};
    return signal;
}

/* The table entries of the family. */
int pi2_pi_initial(const void *law, double *state);
void pi2_pi_update(const void *law, const double *state, const pi2_seen *seen, double dt, double *after);
void pi2_pi_flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope);
void pi2_pi_saturate(const void *law, double *state);
pi2_signal pi2_encode_coupled(const void *law, double u);

/* What the tables of pi, pi2 and coupled have in common. */
#define PI2_PI_ENTRIES \
    .bands = 1, \
    .still = 1u << PI2_DELAY_BEFORE, \
    .initial = pi2_pi_initial, \
    .update = pi2_pi_update, \
    .flow = pi2_pi_flow, \
    .saturate = pi2_pi_saturate, \
    .controller = pi2_first_state
