/* Inside the lanes kernel: senders whose law is a tape, over one step. What step.h does for windows alone is done here
 * for any states, by the same rules. */
#pragma once

#include "lanes/step.h"
#include "lanes/tape.h"

/* What a class hears of one part of the past. */
typedef struct {
    lane x[PI2_LANES_STATES], signal, rtt, rtt_then;
} echo;

static void listen(const block *b, int i, const part *t, echo *e)
{
    const pi2_lanes_class *c = &b->p->class_[i];
    const int s = signal_of(b, c);
    for (int j = 0; j < c->states; j++) {
        const int field = j ? b->row.more[i][j - 1] : b->row.window[i];
        lane from, to;
        if (field < 0) { /* nobody reads it */
            LANES e->x[j][l] = 0.0;
            continue;
        }
        gather(b, t->here, field, from);
        gather(b, t->there, field, to);
        LANES e->x[j][l] = from[l] + t->share[l] * (to[l] - from[l]);
    }
    LANES {
        e->signal[l] = t->cell[l] < b->f[i].start[l] ? 0.0 : t->signal[s][l];
        e->rtt[l] = 1.0 / t->per_rtt[l];
        e->rtt_then[l] = 1.0 / t->per_rtt_then[l];
    }
}

/* dx/dt of a class. */
static void slope_of(const block *b, int i, lane *x, const echo *e, lane *slope)
{
    const pi2_lanes_class *c = &b->p->class_[i];
    const double *given[2 * PI2_LANES_STATES + 3];
    double *out[PI2_LANES_STATES];
    const int n = c->states;
    for (int j = 0; j < n; j++) {
        given[j] = x[j];
        given[n + j] = e->x[j];
        out[j] = slope[j];
    }
    given[2 * n] = e->signal;
    given[2 * n + 1] = e->rtt;
    given[2 * n + 2] = e->rtt_then;
    run_tape(b, &c->rate, given, out);
}

/* The state with which congestion avoidance begins. */
static void leave(const block *b, int i, lane *x, lane *left)
{
    const pi2_lanes_class *c = &b->p->class_[i];
    const double *given[PI2_LANES_STATES];
    double *out[PI2_LANES_STATES];
    for (int j = 0; j < c->states; j++) {
        given[j] = x[j];
        out[j] = left[j];
    }
    run_tape(b, &c->leave, given, out);
}

/* The state of a class, its window first, now or as it is to be. */
static double *state_of(flows *f, int j, int to_come)
{
    if (!j)
        return to_come ? f->x1 : f->x;
    return to_come ? f->more1[j - 1] : f->more[j - 1];
}

/* Slow start, for those still in it, until one signal is expected; `e`: what is heard of the second part of the past. */
static void start_slowly_by_tape(block *b, int i, const echo *e)
{
    const int n = b->p->class_[i].states;
    const group *g = &b->g[b->p->class_[i].group];
    flows *f = &b->f[i];
    lane part, whole, grow[PI2_LANES_STATES], left[PI2_LANES_STATES], slope[PI2_LANES_STATES];
    for (int l = 0; l < V; l++) {
        const double before = f->expected[l], after = before + f->heard[l];
        part[l] = after >= 1.0 ? (1.0 - before) / (after - before) : 1.0;
        whole[l] = slow_growth(b, g, l);
        grow[0][l] = f->x[l] * grown(part[l] * whole[l]);
    }
    for (int j = 1; j < n; j++)
        LANES grow[j][l] = f->more[j - 1][l] + part[l] * (f->more1[j - 1][l] - f->more[j - 1][l]);
    leave(b, i, grow, left);
    slope_of(b, i, left, e, slope);
    f->slowly = 0;
    for (int l = 0; l < V; l++) {
        const double after = f->expected[l] + f->heard[l];
        const int ends = after >= 1.0;
        f->slowly |= f->slow[l];
        if (!f->slow[l] || !(f->active[l] > 0.0))
            continue;
        for (int j = 0; j < n; j++)
            state_of(f, j, 1)[l] = ends ? left[j][l] + (1.0 - part[l]) * b->h[l] * slope[j][l] : grow[j][l];
        f->x1[l] = higher(f->x1[l], 0.0);
        f->middle[l] = ends ? 0.5 * (f->x[l] + f->x1[l]) : f->x[l] * grown(0.5 * whole[l]);
        f->expected[l] = after;
        f->slow[l] = !ends;
    }
}

/* The explicit midpoint rule over both parts of the past, and slow start. */
static void move_by_tape(block *b, int i)
{
    const pi2_lanes_class *c = &b->p->class_[i];
    flows *f = &b->f[i];
    const group *g = &b->g[c->group];
    const int n = c->states;
    lane x[PI2_LANES_STATES], halfway[PI2_LANES_STATES], first[PI2_LANES_STATES], slope[2][PI2_LANES_STATES];
    echo e;
    for (int j = 0; j < n; j++)
        memcpy(x[j], state_of(f, j, 0), sizeof x[j]);
    LANES f->heard[l] = 0.0;
    for (int half = 0; half < 2; half++) {
        const part *t = &g->part[half];
        listen(b, i, t, &e);
        slope_of(b, i, x, &e, first);
        for (int j = 0; j < n; j++)
            LANES halfway[j][l] = x[j][l] + 0.5 * t->weight[l] * b->h[l] * first[j][l];
        slope_of(b, i, halfway, &e, slope[half]);
        for (int j = 0; j < n; j++)
            LANES {
                const double d = t->weight[l] * b->h[l], a = first[j][l];
                const int stiff = x[j][l] * (x[j][l] + 2.0 * d * a) < 0.0;
                const double second = stiff ? damped(stiff ? a : 1.0, slope[half][j][l]) : slope[half][j][l];
                slope[half][j][l] = second;
                x[j][l] += d * second;
            }
        LANES x[0][l] = higher(x[0][l], 0.0); /* held at 0 where its law would carry it below */
        LANES f->heard[l] += t->weight[l] * b->h[l] * (e.x[0][l] / e.rtt_then[l] * e.signal[l]);
    }
    for (int j = 0; j < n; j++) {
        const double *now = state_of(f, j, 0);
        double *to = state_of(f, j, 1);
        LANES to[l] = f->active[l] > 0.0 ? x[j][l] : now[l];
    }
    LANES {
        const double bump = 0.75 * b->h[l] * g->part[0].weight[l] * g->part[1].weight[l];
        f->middle[l] = higher(0.5 * (f->x[l] + f->x1[l]) + bump * (slope[0][0][l] - slope[1][0][l]), 0.0);
    }
    if (f->slowly)
        start_slowly_by_tape(b, i, &e);
}

/* The buffers of some lanes have filled, each at a part of the step: their slow starts end there. */
static void end_slow_start_by_tape(block *b, const index_lane full, const lane part)
{
    for (int i = 0; i < b->p->classes; i++) {
        const pi2_lanes_class *c = &b->p->class_[i];
        flows *f = &b->f[i];
        lane x[PI2_LANES_STATES], left[PI2_LANES_STATES];
        if (c->law != PI2_LANES_TAPED || !f->slowly)
            continue;
        for (int l = 0; l < V; l++)
            x[0][l] = f->x[l] * grown(part[l] * slow_growth(b, &b->g[c->group], l));
        for (int j = 1; j < c->states; j++)
            memcpy(x[j], f->more1[j - 1], sizeof x[j]);
        leave(b, i, x, left);
        for (int l = 0; l < V; l++) {
            if (!full[l] || !f->slow[l] || !(f->active[l] > 0.0))
                continue;
            for (int j = 0; j < c->states; j++)
                state_of(f, j, 1)[l] = left[j][l];
            f->slow[l] = 0;
        }
    }
}
