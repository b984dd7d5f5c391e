#include "laws/aqms/pi_family.h"

int pi2_pi_initial(const void *law, double *state)
{
    (void)law;
    state[PI2_U] = state[PI2_DELAY_BEFORE] = 0.0;
    return 2;
}

void pi2_pi_update(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    const double delay = seen->queue_delay[0];
    (void)dt; /* the gains are per update */
    after[PI2_U] = state[PI2_U] + pi2_pi_step(law, delay, state[PI2_DELAY_BEFORE]);
    after[PI2_DELAY_BEFORE] = delay;
}

void pi2_pi_flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    (void)sides;
    (void)state;
    slope[PI2_U] = pi2_pi_slope(law, seen->queue_delay[0], d_queue_delay);
    slope[PI2_DELAY_BEFORE] = d_queue_delay;
}

void pi2_pi_saturate(const void *law, double *state)
{
    state[PI2_U] = pi2_pi_clip(law, state[PI2_U]);
}

pi2_signal pi2_encode_coupled(const void *law, double u)
{
    return pi2_coupled_encode(law, u);
}
