/* The departure rate, in integers as in Linux and in real numbers; see rate_estimator.h. */
#include "packet/queues/rate_estimator.h"

enum { IDLE = -1, FRACTION_BITS = 8, WEIGHT_SHIFT = 3 };

void pi2_rate_reset(pi2_rate_vars *vars)
{
    vars->count = IDLE;
    vars->start = 0;
    vars->rate = 0;
    vars->average = 0.0;
}

static void learn(const pi2_rate_params *params, pi2_rate_vars *vars, int64_t took)
{
    const uint64_t rate = ((uint64_t)vars->count << FRACTION_BITS) / (uint64_t)took;
    const double real = (double)vars->count / (double)took;
    if (!params->integers)
        vars->average += (vars->average > 0.0 ? params->weight : 1.0) * (real - vars->average);
    else if (vars->rate == 0)
        vars->rate = rate;
    else /* each term is cut off by itself, so that the average stays up to 7 units low */
        vars->rate = vars->rate - (vars->rate >> WEIGHT_SHIFT) + (rate >> WEIGHT_SHIFT);
}

int64_t pi2_rate_leave(const pi2_rate_params *params, pi2_rate_vars *vars, int64_t bytes, int64_t backlog,
                       int64_t now)
{
    int64_t took;
    if (vars->count == IDLE) {
        if (backlog < params->threshold)
            return 0;
        vars->start = now;
        vars->count = 0;
    }
    vars->count += bytes;
    took = now - vars->start;
    if (vars->count < params->threshold || took == 0)
        return 0;
    learn(params, vars, took);
    vars->start = now;
    vars->count = backlog < params->threshold ? IDLE : 0;
    return took;
}

int64_t pi2_rate_delay(const pi2_rate_params *params, const pi2_rate_vars *vars, int64_t backlog)
{
    uint64_t scaled = (uint64_t)backlog << FRACTION_BITS;
    if (!params->integers) {
        const double delay = vars->average > 0.0 ? (double)backlog / vars->average : 0.0;
        return delay < 0x1p62 ? (int64_t)delay : INT64_C(1) << 62;
    }
    if (params->quirks)
        scaled = (uint32_t)scaled;
    return vars->rate ? (int64_t)(scaled / vars->rate) : 0;
}
