#include "packet/controllers/pi_family.h"

void pi2_pi_initial(double *state)
{
    state[PI2_U] = state[PI2_DELAY_BEFORE] = 0.0;
}

void pi2_pi_update(const pi2_pi_family *p, const double *state, double delay, double *after)
{
    after[PI2_U] = state[PI2_U] + pi2_pi_step(p, delay, state[PI2_DELAY_BEFORE]);
    after[PI2_DELAY_BEFORE] = delay;
}

void pi2_pi_saturate(const pi2_pi_family *p, double *state)
{
    state[PI2_U] = pi2_pi_clip(p, state[PI2_U]);
}

void pi2_encode_pi(const pi2_coupled *p, double u, double *classic, double *scalable)
{
    (void)p;
    *classic = *scalable = u;
}

void pi2_encode_pi2(const pi2_coupled *p, double u, double *classic, double *scalable)
{
    (void)p;
    *classic = *scalable = u * u;
}

void pi2_encode_coupled(const pi2_coupled *p, double u, double *classic, double *scalable)
{
    const double linear = p->k * u;
    *classic = u * u;
    *scalable = linear <= 1.0 + 1e-12 ? linear : 1.0; /* u = p/k times k may exceed p = 1 by a rounding error */
}
