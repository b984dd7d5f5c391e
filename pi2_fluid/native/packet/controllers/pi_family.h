/* The PI controller of the queue delay that pi, pie, pi2, coupled and dualpi2 share, in real numbers:
 *   u += alpha (delay - target) + beta (delay - delay before), every update interval.
 * PI2 paper (CoNEXT'16), equation (4). */
#pragma once

#include "parameters.h"

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

enum { PI2_U, PI2_DELAY_BEFORE, PI2_PI_STATES };

static inline double pi2_pi_step(const pi2_pi_family *p, double delay, double before)
{
    return p->alpha * (delay - p->target) + p->beta * (delay - before);
}

static inline double pi2_pi_clip(const pi2_pi_family *p, double u)
{
    u = u > 0.0 || u != u ? u : 0.0;
    return u < p->limit || u != u ? u : p->limit;
}

/* The probabilities that Classic and Scalable packets are signalled with at u, of each law: u; u^2; u^2 and min(k u, 1). */
typedef void pi2_encoder(const pi2_coupled *p, double u, double *classic, double *scalable);
pi2_encoder pi2_encode_pi, pi2_encode_pi2, pi2_encode_coupled;

/* The state of an idle queue; one update at such a delay (s); and the clip that follows it. */
void pi2_pi_initial(double *state);
void pi2_pi_update(const pi2_pi_family *p, const double *state, double delay, double *after);
void pi2_pi_saturate(const pi2_pi_family *p, double *state);
