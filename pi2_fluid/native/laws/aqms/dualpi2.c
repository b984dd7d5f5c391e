/* DualPI2: the coupled controller over a Classic and an L4S queue, and the L4S queue's own marking.
 * RFC 9332, section 2 and Appendix A. */
#include <math.h>

#include "laws/aqms/dualpi2.h"

typedef pi2_dualpi2 dualpi2;

enum { C, L };

static void update(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    const dualpi2 *p = law;
    pi2_seen driving = *seen;
    if (p->classic_drives == 0.0 && seen->queue_delay[L] > seen->queue_delay[C])
        driving.queue_delay[C] = seen->queue_delay[L];
    pi2_pi_update(&p->coupled.pi, state, &driving, dt, after);
}

static double native(const dualpi2 *p, double delay)
{
    double inner;
    if (p->ramp == 0.0)
        return delay > p->step ? 1.0 : 0.0;
    inner = (delay - (p->step - 0.5 * p->ramp)) / p->ramp;
    return inner > 0.0 ? (inner <= 1.0 + 1e-12 ? inner : 1.0) : 0.0;
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    const dualpi2 *p = law;
    pi2_signal signal = pi2_coupled_encode(&p->coupled, state[PI2_U]);
    const double own = native(p, seen->queue_delay[L]);
    (void)sides;
    if (!(signal.scalable >= own))
        signal.scalable = own;
    return signal;
}

static int switch_values(const void *law, const double *state, const pi2_seen *seen, double *values)
{
    const dualpi2 *p = law;
    const double linear = p->coupled.k * state[PI2_U], delay = seen->queue_delay[L];
    const double low = p->step - 0.5 * p->ramp, high = p->step + 0.5 * p->ramp;
    int n = 0;
    values[n++] = linear - 1.0;
    values[n++] = delay - high;
    if (p->ramp != 0.0) {
        values[n++] = delay - low;
        values[n++] = linear - (delay - low) / p->ramp;
    }
    if (p->classic_drives == 0.0)
        values[n++] = seen->queue_delay[C] - delay;
    return n;
}

static void serve(const void *law, const int backlogged[2], const double arrivals[2], double capacity,
                  double served[2])
{
    const double protected_ = ((const dualpi2 *)law)->c_protection * capacity;
    const double need_c = backlogged[C] ? INFINITY : arrivals[C], need_l = backlogged[L] ? INFINITY : arrivals[L];
    const double left_c = capacity - need_l > protected_ ? capacity - need_l : protected_;
    const double left_l = capacity - need_c > capacity - protected_ ? capacity - need_c : capacity - protected_;
    served[C] = need_c < left_c ? need_c : left_c;
    served[L] = need_l < left_l ? need_l : left_l;
}

const pi2_aqm_law pi2_aqm_dualpi2 = {
    .name = "dualpi2",
    PI2_CONFIGURED_BY(PI2_DUALPI2_FIELDS),
    .bands = 2,
    .still = 1u << PI2_DELAY_BEFORE,
    .queue_signals = 1,
    .initial = pi2_pi_initial,
    .update = update,
    .saturate = pi2_pi_saturate,
    .controller = pi2_first_state,
    .encode = pi2_encode_coupled,
    .signals = signals,
    .switch_values = switch_values,
    .serve = serve,
};
