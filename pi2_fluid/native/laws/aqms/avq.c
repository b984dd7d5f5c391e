/* AVQ as a fluid; see avq.h. The state is Cv/C. */
#include "laws/aqms/avq.h"

#include <math.h>

/* What a load or a virtual capacity is taken for that is 0; and within which a load is 1. */
static const double NOTHING = 1e-30, AT_ONE = 1e-12;

static double at_least_nothing(double x)
{
    return x > NOTHING ? x : NOTHING;
}

/* What the virtual queue loses of what arrives at that load. */
static double lost(const pi2_avq *p, double load)
{
    double x, size;
    load = at_least_nothing(load);
    if (p->overflow != 0.0)
        return load > 1.0 ? 1.0 - 1.0 / load : 0.0;
    x = log(load);
    size = fabs(x) > AT_ONE ? fabs(x) : AT_ONE;
    return exp(p->buffer * (x < 0.0 ? x : 0.0)) * expm1(-size) / expm1(-(p->buffer + 1.0) * size);
}

static int initial(const void *law, double *state)
{
    state[0] = ((const pi2_avq *)law)->start;
    return 1;
}

static void drift(const void *law, const double *state, const pi2_seen *seen, const signed char *sides,
                  double *slope)
{
    const pi2_avq *p = law;
    (void)sides;
    (void)state;
    slope[0] = p->alpha * (p->utilization - seen->arrival_rate / seen->capacity);
}

static void flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    (void)sides;
    (void)d_queue_delay;
    drift(law, state, seen, sides, slope);
}

static void saturate(const void *law, double *state)
{
    (void)law;
    if (state[0] < 0.0)
        state[0] = 0.0;
    if (state[0] > 1.0)
        state[0] = 1.0;
}

static double controller(const void *law, const double *state)
{
    const pi2_avq *p = law;
    return lost(p, p->utilization / at_least_nothing(state[0]));
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    (void)sides;
    return pi2_same_for_all(law, lost(law, seen->arrival_rate / (seen->capacity * at_least_nothing(state[0]))));
}

static int switch_values(const void *law, const double *state, const pi2_seen *seen, double *values)
{
    const pi2_avq *p = law;
    if (p->overflow == 0.0)
        return 0;
    values[0] = seen->arrival_rate / seen->capacity - state[0];
    return 1;
}

const pi2_aqm_law pi2_aqm_avq = {
    .name = "avq",
    PI2_CONFIGURED_BY(PI2_AVQ_FIELDS),
    .bands = 1,
    .queue_signals = 1,
    .initial = initial,
    .update = pi2_not_updated,
    .flow = flow,
    .drift = drift,
    .saturate = saturate,
    .controller = controller,
    .encode = pi2_same_for_all,
    .signals = signals,
    .switch_values = switch_values,
};
