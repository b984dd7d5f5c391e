/* What trajectories have inline of plain laws: see laws/sender.h and laws/aqm.h. */
#pragma once

#include "laws/aqm.h"
#include "laws/sender.h"

/* Whether k u is a probability: the only comparison of a coupled encoder. u = p/k times k may exceed p = 1 by a rounding
 * error. */
static inline int fluid_is_within(double k, double u)
{
    return k * u <= 1.0 + 1e-12;
}

static inline double fluid_encode_on(int within, int encoder, double k, double u, int scalable)
{
    if (encoder == PI2_SQUARE)
        return u * u;
    if (encoder == PI2_LINEAR)
        return u;
    return !scalable ? u * u : within ? k * u : 1.0;
}

static inline double fluid_encode(int encoder, double k, double u, int scalable)
{
    return fluid_encode_on(fluid_is_within(k, u), encoder, k, u, scalable);
}

/* dW/dt where so many signals are heard of per second. */
static inline double fluid_window_rate(const pi2_plain_window *plain, double window, double signals, double inverse_rtt)
{
    return inverse_rtt - (plain->decrease * window + plain->per_mark) * signals;
}

static inline double fluid_pi_step(const pi2_plain_controller *p, double delay, double before)
{
    return p->alpha * (delay - p->target) + p->beta * (delay - before);
}

static inline double fluid_pi_slope(const pi2_plain_controller *p, double delay, double d_delay)
{
    return p->alpha / p->update_interval * (delay - p->target) + (p->beta + p->alpha / 2) * d_delay;
}

static inline double fluid_pi_clip(const pi2_plain_controller *p, double u)
{
    u = u > 0.0 || u != u ? u : 0.0;
    return u < p->limit || u != u ? u : p->limit;
}
