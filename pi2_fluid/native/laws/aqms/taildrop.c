/* Tail drop: no control, only a buffer that overflows. Its one state stays 0. */
#include "laws/aqm.h"

static int initial(const void *law, double *state)
{
    (void)law;
    state[0] = 0.0;
    return 1;
}

/* The fraction of the arrivals that does not fit. */
static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    (void)sides;
    (void)state;
    return pi2_same_for_all(law, seen->arrival_rate > 0.0 ? seen->overflow / seen->arrival_rate : 0.0);
}

const pi2_aqm_law pi2_aqm_taildrop = {
    .name = "taildrop",
    PI2_CONFIGURED_BY(PI2_NO_FIELDS),
    .bands = 1,
    .still = 1u,
    .queue_signals = 1,
    .initial = initial,
    .update = pi2_not_updated,
    .saturate = pi2_unclipped,
    .controller = pi2_first_state,
    .signals = signals,
};
