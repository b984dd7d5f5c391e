/* Plain PI: every packet sees p = u. PI2 paper (CoNEXT'16), section 2. */
#include "laws/aqms/pi_family.h"

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    (void)sides;
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
