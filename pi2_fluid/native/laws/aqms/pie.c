/* PIE: the PI controller with gains scaled by a table of its own output, and the heuristics around it.
 * PIE paper (HPSR'13), section IV; RFC 8033, sections 4.2 and 5; PI2 paper (CoNEXT'16), Figure 5. */
#include <math.h>

#include "laws/aqms/pie.h"

typedef pi2_pie pie;

enum { LEFT = PI2_DELAY_BEFORE + 1 }; /* state: what is left of the burst allowance, s */

typedef struct {
    double edge, below; /* factor on the gains for u below the edge */
} row;

static const row ROWS[] = {{1e-6, 1.0 / 2048}, {1e-5, 1.0 / 512}, {1e-4, 1.0 / 128}, {1e-3, 1.0 / 32},
                           {1e-2, 1.0 / 8},    {1e-1, 1.0 / 2},   {1.0, 2.0},        {10.0, 8.0}};
static const struct {
    int first, end;
} TABLES[] = {[PI2_TABLE_NONE] = {0, 0},   [PI2_TABLE_RFC8033] = {0, 6},    [PI2_TABLE_RFC8034] = {0, 8},
              [PI2_TABLE_HPSR13] = {4, 6}, [PI2_TABLE_IETF_EARLY] = {3, 6}, [PI2_TABLE_SQRT2P] = {0, 0}};

static const double STEP = 0.02, CAPPED_ABOVE = 0.1, LONG_DELAY = 0.25;
static const double ON_EDGE = 1.0 - 1e-9; /* u this close to an edge counts as on it, hence not below it */

static double gain_factor(const pie *p, double u)
{
    const int table = (int)p->table;
    if (table == PI2_TABLE_SQRT2P)
        return sqrt(2.0 * u);
    for (int i = TABLES[table].first; i < TABLES[table].end; i++)
        if (u < ROWS[i].edge * ON_EDGE)
            return ROWS[i].below;
    return 1.0;
}

static int sound(const void *law)
{
    const double table = ((const pie *)law)->table;
    return table >= PI2_TABLE_NONE && table <= PI2_TABLE_SQRT2P;
}

static int initial(const void *law, double *state)
{
    const pie *p = law;
    pi2_pi_initial(law, state);
    state[LEFT] = p->burst;
    return p->burst < 0.0 ? 2 : 3;
}

static void update(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    const pie *p = law;
    const double delay = seen->queue_delay[0], u = state[PI2_U], before = state[PI2_DELAY_BEFORE];
    double step = gain_factor(p, u) * pi2_pi_step(&p->pi, delay, before), now;
    if (p->cap != 0.0 && step > STEP && u >= CAPPED_ABOVE)
        step = STEP;
    if (p->boost != 0.0 && delay > LONG_DELAY)
        step = step + STEP;
    now = u + step;
    if (p->decay < 1.0 && delay == 0.0 && before == 0.0)
        now = now * p->decay;
    if (p->burst >= 0.0) {
        const int calm = delay < p->pi.target / 2 && before < p->pi.target / 2 && now <= 0.0;
        after[LEFT] = calm ? p->burst : state[LEFT] > dt ? state[LEFT] - dt : 0.0;
    }
    after[PI2_U] = now;
    after[PI2_DELAY_BEFORE] = delay;
}

/* The cap limits the integral part only, so that a jump of the delay keeps its meaning. */
static void flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    const pie *p = law;
    const double delay = seen->queue_delay[0], u = state[PI2_U], factor = gain_factor(p, u);
    double integral = factor * p->pi.alpha * (delay - p->pi.target);
    (void)sides;
    if (p->cap != 0.0 && integral > STEP && u >= CAPPED_ABOVE)
        integral = STEP;
    if (p->boost != 0.0 && delay > LONG_DELAY)
        integral = integral + STEP;
    if (p->decay < 1.0 && delay == 0.0)
        integral = integral + (p->decay - 1.0) * u;
    slope[PI2_U] = integral / p->pi.update_interval + factor * (p->pi.beta + p->pi.alpha / 2) * d_queue_delay;
    slope[PI2_DELAY_BEFORE] = d_queue_delay;
    if (p->burst >= 0.0)
        slope[LEFT] = state[LEFT] > 0.0 ? -1.0 : 0.0;
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    const pie *p = law;
    (void)sides;
    (void)seen;
    return pi2_same_for_all(law, p->burst >= 0.0 && state[LEFT] > 0.0 ? 0.0 : state[PI2_U]);
}

static int switch_values(const void *law, const double *state, const pi2_seen *seen, double *values)
{
    const pie *p = law;
    const int table = (int)p->table;
    int n = 0, capped_edge = 0;
    for (int i = TABLES[table].first; i < TABLES[table].end; i++) {
        if (ROWS[i].edge < 1.0)
            values[n++] = state[PI2_U] - ROWS[i].edge * ON_EDGE;
        capped_edge |= ROWS[i].edge == CAPPED_ABOVE;
    }
    if (p->cap != 0.0) {
        if (!capped_edge)
            values[n++] = state[PI2_U] - CAPPED_ABOVE;
        values[n++] = gain_factor(p, state[PI2_U]) * p->pi.alpha * (seen->queue_delay[0] - p->pi.target) - STEP;
    }
    if (p->boost != 0.0)
        values[n++] = seen->queue_delay[0] - LONG_DELAY;
    if (p->burst >= 0.0)
        values[n++] = state[LEFT];
    return n;
}

const pi2_aqm_law pi2_aqm_pie = {
    .name = "pie",
    PI2_CONFIGURED_BY(PI2_PIE_FIELDS),
    .bands = 1,
    .still = 1u << PI2_DELAY_BEFORE,
    .sound = sound,
    .initial = initial,
    .update = update,
    .flow = flow,
    .saturate = pi2_pi_saturate,
    .controller = pi2_first_state,
    .encode = pi2_same_for_all,
    .signals = signals,
    .switch_values = switch_values,
};
