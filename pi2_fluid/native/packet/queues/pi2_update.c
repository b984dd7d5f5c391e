/* The updates of the two kernel queues called PI2, in their integers; see pi2_update.h. */
#include "packet/queues/pi2_update.h"

#include "packet/queues/rate_estimator.h"

/* 2016 */

uint32_t pi2_2016_gain(uint32_t parts)
{
    return parts * (UINT32_MAX / PI2_TICKS_PER_SECOND) >> 4;
}

static uint32_t decayed(uint32_t p, int quirks)
{
    return quirks ? p * 98 / 100 : (uint32_t)((uint64_t)p * 98 / 100);
}

void pi2_2016_update(const pi2_2016_params *params, pi2_2016_vars *vars, int64_t delay, int backlog)
{
    /* unsigned, where C lets a product wrap around */
    const uint64_t error = (uint64_t)(delay - params->target), change = (uint64_t)(delay - vars->before);
    const int64_t delta = (int64_t)(error * params->alpha + change * params->beta);
    const uint32_t p = vars->p;
    uint32_t now = p + (uint32_t)delta;
    int idle = delay == 0 && vars->before == 0 && !backlog;
    if (delta > 0) {
        if (params->quirks ? now < p : delta > (int64_t)(UINT32_MAX - p)) {
            now = UINT32_MAX;
            idle = 0;
        }
    } else if (params->quirks ? now > p : 0 - (uint64_t)delta > p) {
        now = 0;
    }
    vars->p = params->decay && idle ? decayed(now, params->quirks) : now;
    vars->before = delay;
}

/* HPE */

enum { HPE_ALPHA_SHIFT = 24, HPE_SHIFT = 16 };

void pi2_hpe_setup(pi2_hpe_params *params, int64_t alpha, int64_t beta, int64_t coupling, int64_t target)
{
    const int64_t ms = 1000000, per_ns = (INT64_C(1) << 40) / 1000000000; /* 1/256 Hz in 2^-16 units per ns */
    const double at_1_ns = (double)(alpha * per_ns * (INT64_C(1) << HPE_ALPHA_SHIFT)) * (double)ms;
    params->alpha = (int64_t)(at_1_ns / ((double)target * (double)target));
    params->beta = beta * per_ns * ms / target;
    params->limit = (INT64_C(1) << 40) / coupling - 1;
    params->target = target;
}

/* Wraps around as in the kernel, which C leaves undefined for signed numbers. */
static int64_t product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

void pi2_hpe_update(const pi2_hpe_params *params, pi2_hpe_vars *vars, int64_t delay, int64_t now, int64_t elapsed)
{
    /* quotients, not shifts: both parts are cut off towards 0 */
    const int64_t error = product(delay - params->target, params->alpha) / (INT64_C(1) << HPE_ALPHA_SHIFT);
    const int64_t proportional = product(delay - vars->before, params->beta);
    const int64_t step = (int64_t)((uint64_t)product(error, elapsed) + (uint64_t)proportional);
    const int64_t p = vars->p + step / (INT64_C(1) << HPE_SHIFT);
    vars->before = delay;
    if (p < params->limit) {
        vars->p = p > 0 ? p : 0;
        vars->patience = 0;
        vars->overload = 0;
        return;
    }
    vars->p = params->limit;
    if (vars->patience == 0)
        vars->patience = now + params->target / 4;
    else if (now > vars->patience)
        vars->overload = 1;
}
