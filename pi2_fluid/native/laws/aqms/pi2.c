/* PI2: the controller's variable is p', every packet sees p'^2. PI2 paper (CoNEXT'16), sections 4 and 5. */
#include "laws/aqms/pi_family.h"

static pi2_signal encode(const void *law, double u)
{
    return pi2_same_for_all(law, u * u);
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    (void)sides;
    (void)seen;
    return encode(law, state[PI2_U]);
}

const pi2_aqm_law pi2_aqm_pi2 = {
    .name = "pi2",
    PI2_CONFIGURED_BY(PI2_PI_FIELDS),
    PI2_PI_ENTRIES,
    .encode = encode,
    .signals = signals,
};
