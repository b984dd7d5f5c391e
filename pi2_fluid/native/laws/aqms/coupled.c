/* Coupled PI + PI2 in one queue: Classic packets see p'^2, Scalable ones min(k p', 1).
 * PI2 paper (CoNEXT'16), section 5; RFC 9332, section 2.1. */
#include "laws/aqms/pi_family.h"
#include "laws/operations.h"

/* Whether k u is a probability. */
static const signed char COMPARING[] = {PI2_TAPE_LESS_EQUAL};

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    const pi2_coupled *p = law;
    const double u = state[PI2_U];
    (void)seen;
    return sides ? (pi2_signal){u * u, sides[0] ? p->k * u : 1.0} : pi2_coupled_encode(law, u);
}

static void differences(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                        const signed char *sides, double *values)
{
    const pi2_coupled *p = law;
    (void)seen;
    (void)d_queue_delay;
    (void)sides;
    values[0] = p->k * state[PI2_U] - (1.0 + 1e-12);
}

const pi2_aqm_law pi2_aqm_coupled = {
    .name = "coupled",
    PI2_CONFIGURED_BY(PI2_COUPLED_FIELDS),
    PI2_PI_ENTRIES,
    .encode = pi2_encode_coupled,
    .comparisons = 1,
    .comparing = COMPARING,
    .signals = signals,
    .differences = differences,
};
