/* See pie.h. */
#include <math.h>

#include "packet/controllers/pie.h"

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

static double gain_factor(const pi2_pie *p, double u)
{
    const int table = (int)p->table;
    if (table == PI2_TABLE_SQRT2P)
        return sqrt(2.0 * u);
    for (int i = TABLES[table].first; i < TABLES[table].end; i++)
        if (u < ROWS[i].edge * ON_EDGE)
            return ROWS[i].below;
    return 1.0;
}

int pi2_pie_sound(const pi2_pie *p)
{
    return p->table >= PI2_TABLE_NONE && p->table <= PI2_TABLE_SQRT2P;
}

void pi2_pie_initial(const pi2_pie *p, double *state)
{
    pi2_pi_initial(state);
    state[PI2_PIE_LEFT] = p->burst;
}

void pi2_pie_real_update(const pi2_pie *p, const double *state, double delay, double dt, double *after)
{
    const double u = state[PI2_U], before = state[PI2_DELAY_BEFORE];
    double step = gain_factor(p, u) * pi2_pi_step(&p->pi, delay, before), now;
    if (p->cap != 0.0 && step > STEP && u >= CAPPED_ABOVE)
        step = STEP;
    if (p->boost != 0.0 && delay > LONG_DELAY)
        step = step + STEP;
    now = u + step;
    if (p->decay < 1.0 && delay == 0.0 && before == 0.0)
        now = now * p->decay;
    after[PI2_PIE_LEFT] = state[PI2_PIE_LEFT];
    if (p->burst >= 0.0) {
        const int calm = delay < p->pi.target / 2 && before < p->pi.target / 2 && now <= 0.0;
        after[PI2_PIE_LEFT] = calm ? p->burst : state[PI2_PIE_LEFT] > dt ? state[PI2_PIE_LEFT] - dt : 0.0;
    }
    after[PI2_U] = now;
    after[PI2_DELAY_BEFORE] = delay;
}
