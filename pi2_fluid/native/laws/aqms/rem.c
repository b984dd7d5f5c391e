/* REM; see rem.h. */
#include "laws/aqms/rem.h"

#include <math.h>

_Static_assert((int)PI2_REM_STATES <= (int)PI2_AQM_STATES, "they fit");

enum { PRICE = PI2_REM_PRICE, AVERAGE = PI2_REM_AVERAGE, COUNT = PI2_REM_COUNT };

static int initial(const void *law, double *state)
{
    (void)law;
    state[PRICE] = state[AVERAGE] = state[COUNT] = 0.0;
    return PI2_REM_STATES;
}

static void update(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    const pi2_rem *p = law;
    const double average = state[AVERAGE] + p->weight * (state[COUNT] - state[AVERAGE]);
    const double excess = average + p->alpha * (seen->queue - p->target) - seen->capacity * dt;
    after[PRICE] = state[PRICE] + p->gamma * excess;
    after[AVERAGE] = average;
    after[COUNT] = 0.0;
}

static void drift(const void *law, const double *state, const pi2_seen *seen, const signed char *sides,
                  double *slope)
{
    (void)sides;
    (void)law;
    (void)state;
    slope[PRICE] = slope[AVERAGE] = 0.0;
    slope[COUNT] = seen->arrival_rate;
}

static void flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    const pi2_rem *p = law;
    const double T = p->update_interval;
    const int averages = p->weight < 1.0;
    const double arriving = averages ? state[AVERAGE] / T : seen->arrival_rate;
    (void)sides;
    (void)d_queue_delay;
    slope[PRICE] = p->gamma * (arriving - seen->capacity + p->alpha / T * (seen->queue - p->target));
    slope[AVERAGE] = averages ? -log1p(-p->weight) / T * (seen->arrival_rate * T - state[AVERAGE]) : 0.0;
    slope[COUNT] = 0.0;
}

static pi2_signal encode(const void *law, double u)
{
    return pi2_price_encode(law, ((const pi2_rem *)law)->phi, u);
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    (void)sides;
    (void)seen;
    return encode(law, state[PRICE]);
}

const pi2_aqm_law pi2_aqm_rem = {
    .name = "rem",
    PI2_CONFIGURED_BY(PI2_REM_FIELDS),
    .bands = 1,
    .initial = initial,
    .update = update,
    .flow = flow,
    .drift = drift,
    .saturate = pi2_price_saturate,
    .controller = pi2_first_state,
    .encode = encode,
    .signals = signals,
};
