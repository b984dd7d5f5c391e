/* Coupled PI + PI2 in one queue: Classic packets see p'^2, Scalable ones min(k p', 1).
 * PI2 paper (CoNEXT'16), section 5; RFC 9332, section 2.1. */
#include "laws/aqms/pi_family.h"

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    (void)sides;
    (void)seen;
    return pi2_coupled_encode(law, state[PI2_U]);
}

const pi2_aqm_law pi2_aqm_coupled = {
    .name = "coupled",
    PI2_CONFIGURED_BY(PI2_COUPLED_FIELDS),
    PI2_PI_ENTRIES,
    .encode = pi2_encode_coupled,
    .signals = signals,
};
