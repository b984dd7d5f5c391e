/* Price: integrates how much more arrives than should, of which packets are marked with 1 - phi^-price. Paganini, Wang,
 * Low, Doyle (2002), equations (5), (21) and (28). */
#include "laws/aqms/price.h"

typedef pi2_price price;

static int initial(const void *law, double *state)
{
    (void)law;
    state[PI2_PRICE] = state[PI2_PRICE_COUNT] = 0.0;
    return 2;
}

static void update(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    const price *p = law;
    after[PI2_PRICE] = state[PI2_PRICE] + state[PI2_PRICE_COUNT] / (p->utilization * seen->capacity) - dt;
    after[PI2_PRICE_COUNT] = 0.0;
}

static void drift(const void *law, const double *state, const pi2_seen *seen, const signed char *sides,
                  double *slope)
{
    (void)sides;
    (void)law;
    (void)state;
    slope[PI2_PRICE] = 0.0;
    slope[PI2_PRICE_COUNT] = seen->arrival_rate;
}

static void flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    const price *p = law;
    (void)sides;
    (void)state;
    (void)d_queue_delay;
    slope[PI2_PRICE] = seen->arrival_rate / (p->utilization * seen->capacity) - 1.0;
    slope[PI2_PRICE_COUNT] = 0.0;
}

static pi2_signal encode(const void *law, double u)
{
    return pi2_price_encode(law, ((const price *)law)->phi, u);
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    (void)sides;
    (void)seen;
    return encode(law, state[PI2_PRICE]);
}

const pi2_aqm_law pi2_aqm_price = {
    .name = "price",
    PI2_CONFIGURED_BY(PI2_PRICE_FIELDS),
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
