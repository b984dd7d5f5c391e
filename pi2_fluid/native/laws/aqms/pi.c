/* Plain PI: every packet sees p = u. PI2 paper (CoNEXT'16), section 2. Also what the family has in common. */
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

void pi2_pi_flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay, double *slope)
{
    (void)state;
    slope[PI2_U] = pi2_pi_slope(law, seen->queue_delay[0], d_queue_delay);
    slope[PI2_DELAY_BEFORE] = d_queue_delay;
}

void pi2_pi_saturate(const void *law, double *state)
{
    state[PI2_U] = pi2_pi_clip(law, state[PI2_U]);
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen)
{
    (void)seen;
    return pi2_same_for_all(law, state[PI2_U]);
}

const pi2_aqm_law pi2_aqm_pi = {
    .name = "pi",
    PI2_CONFIGURED_BY(PI2_PI_FIELDS),
    PI2_PI_ENTRIES,
    .encode = pi2_same_for_all,
    .signals = signals,
};
