/* The update of p' in the integers of sch_dualpi2; see dualpi2_update.h. */
#include "packet/queues/dualpi2_update.h"

enum { GAIN_SHIFT = 6 }; /* gains are in 1/64 of the units of p' per ns */

uint32_t pi2_pi_ns_gain(double hertz)
{
    return (uint32_t)(hertz * 1e-9 * UINT32_MAX * (1 << GAIN_SHIFT) + 0.5);
}

void pi2_pi_ns_update(const pi2_pi_ns_params *params, pi2_pi_ns_vars *vars, int64_t delay)
{
    /* unsigned, where C lets a product wrap around */
    const uint64_t error = (uint64_t)(delay - params->target), change = (uint64_t)(delay - vars->before);
    const int64_t delta = (int64_t)(error * params->alpha + change * params->beta);
    const uint64_t step = (delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta) >> GAIN_SHIFT;
    const uint32_t p = vars->p;
    uint32_t now;
    if (delta > 0) {
        now = p + (uint32_t)step;
        if (params->quirks ? now < p : step > UINT32_MAX - p)
            now = UINT32_MAX;
    } else {
        now = p - (uint32_t)step;
        if (params->quirks ? now > p : step > p)
            now = 0;
    }
    vars->p = now < params->limit ? now : params->limit;
    vars->before = delay;
}
