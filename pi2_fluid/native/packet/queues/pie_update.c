/* PIE's update of its drop probability; see pie_update.h. */
#include "packet/queues/pie_update.h"

#include "packet/queues/rate_estimator.h"

static const uint64_t FULL_56 = (UINT64_C(1) << 56) - 1, FULL_32 = UINT32_MAX;
static const int64_t LONG_DELAY = 250000000 >> PI2_TICK_SHIFT; /* ticks of 64 ns */
/* Longer delays than these 17 s would overflow 64 bits; p has long been 1 then. */
static const int64_t LONGEST = INT64_C(1) << 28;

/* Steps of the tables of packet/controllers/pie.c that can be taken by shifts, -1: none. */
static int rows_of(double table)
{
    static const int ROWS[] = {[PI2_TABLE_NONE] = 0,   [PI2_TABLE_RFC8033] = 6,    [PI2_TABLE_RFC8034] = -1,
                               [PI2_TABLE_HPSR13] = 2, [PI2_TABLE_IETF_EARLY] = 3, [PI2_TABLE_SQRT2P] = -1};
    return table >= PI2_TABLE_NONE && table <= PI2_TABLE_SQRT2P ? ROWS[(int)table] : -1;
}

int pi2_pie_setup(pi2_pie_params *params, const pi2_pie *law, int arithmetic, int quirks)
{
    const uint64_t full = arithmetic == PI2_PIE_32_BITS ? FULL_32 : FULL_56;
    params->law = *law;
    params->arithmetic = arithmetic;
    params->full = full;
    params->decay = law->decay < 1.0;
    params->shift = arithmetic == PI2_PIE_REAL ? 0 : PI2_TICK_SHIFT;
    params->target = (int64_t)(law->pi.target * 1e9 + 0.5) >> params->shift;
    params->quirks = quirks;
    if (arithmetic == PI2_PIE_REAL)
        return pi2_pie_sound(&params->law);
    params->rows = rows_of(law->table);
    params->alpha = (uint64_t)(law->pi.alpha * 16.0 + 0.5) * (full / PI2_TICKS_PER_SECOND);
    params->beta = (uint64_t)(law->pi.beta * 16.0 + 0.5) * (full / PI2_TICKS_PER_SECOND);
    params->cap = law->cap != 0.0;
    params->boost = law->boost != 0.0;
    return params->rows >= 0;
}

void pi2_pie_start(const pi2_pie_params *params, pi2_pie_vars *vars)
{
    *vars = (pi2_pie_vars){0};
    pi2_pie_initial(&params->law, vars->state);
}

/* How far the gains are shifted down: by 1 below 10 %, and by 2 more at each further decade. */
static int gain_shift(const pi2_pie_params *params, uint64_t p)
{
    uint64_t part = 10;
    int shift = 0;
    for (int i = 0; i < params->rows && p < params->full / part; i++) {
        shift += i ? 2 : 1;
        part *= 10;
    }
    return shift;
}

/* In the older kernels the step is a signed number of 32 bits. */
static int64_t fitted(const pi2_pie_params *params, int64_t step)
{
    return params->quirks && params->arithmetic == PI2_PIE_32_BITS ? (int32_t)(uint32_t)step : step;
}

/* From 10 % on 2 % at most (RFC 8033, section 5.5); above 250 ms 2 % more (Linux alone). */
static int64_t step_of(const pi2_pie_params *params, const pi2_pie_vars *vars, int64_t delay)
{
    const int64_t full = (int64_t)params->full;
    const int shift = 4 + gain_shift(params, vars->p);
    /* unsigned, where C lets a product wrap around */
    const uint64_t integral = (params->alpha >> shift) * (uint64_t)(delay - params->target);
    const uint64_t proportional = (params->beta >> shift) * (uint64_t)(delay - vars->before);
    int64_t step = fitted(params, (int64_t)(integral + proportional));
    if (params->cap && step > full / 50 && vars->p >= params->full / 10)
        step = full / 100 * 2;
    if (params->boost && delay > LONG_DELAY)
        step = fitted(params, (int64_t)((uint64_t)step + params->full / 50));
    return step;
}

/* p after a step; `clipped` becomes 1 if it was held at 1. */
static uint64_t moved(const pi2_pie_params *params, uint64_t p, int64_t step, int *clipped)
{
    uint64_t now = p + (uint64_t)step;
    *clipped = 0;
    if (params->quirks && params->arithmetic == PI2_PIE_32_BITS)
        now = (uint32_t)now;
    if (step > 0) {
        /* 64 bits do not wrap at 1, so that p winds up beyond it in the kernel */
        *clipped = params->quirks ? now < p : now > params->full;
        return *clipped ? params->full : now;
    }
    return now > p ? 0 : now;
}

static uint64_t decayed(const pi2_pie_params *params, uint64_t p)
{
    if (params->arithmetic == PI2_PIE_56_BITS)
        return p - p / 64;
    return params->quirks ? (uint32_t)(p * 98) / 100 : p * 98 / 100;
}

static void update_integers(const pi2_pie_params *params, pi2_pie_vars *vars, int64_t delay, int idle)
{
    int clipped;
    if (!params->quirks && delay > LONGEST)
        delay = LONGEST;
    vars->p = moved(params, vars->p, step_of(params, vars, delay), &clipped);
    if (idle && !clipped)
        vars->p = decayed(params, vars->p);
    vars->before = delay;
}

static void update_real(const pi2_pie_params *params, pi2_pie_vars *vars, int64_t delay, int idle)
{
    double after[PI2_PIE_STATES];
    pi2_pie law = params->law;
    if (!idle)
        law.decay = 1.0; /* the law would let p decay whenever both delays are 0 */
    pi2_pie_real_update(&law, vars->state, (double)delay * 1e-9, law.pi.update_interval, after);
    pi2_pi_saturate(&law.pi, after);
    for (int i = 0; i < PI2_PIE_STATES; i++)
        vars->state[i] = after[i];
    vars->p = after[0] < 1.0 ? (uint64_t)(after[0] * (double)params->full) : params->full;
    vars->before = delay;
}

int pi2_pie_update(const pi2_pie_params *params, pi2_pie_vars *vars, int64_t delay, int backlog)
{
    const int64_t half = params->target / 2;
    const int calm = delay < half && vars->before < half;
    const int idle = params->decay && delay == 0 && vars->before == 0 && !(backlog && params->strict_idle);
    if (params->arithmetic == PI2_PIE_REAL)
        update_real(params, vars, delay, idle);
    else
        update_integers(params, vars, delay, idle);
    return calm && vars->p == 0;
}
