/* Random networks for self-tests of trajectories: what they are made of, run, and held to their bounds. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fluid/routes/routes.h"
#include "tests/draw.h"
#include "tests/within.h"

enum { NODES = 4, CLASSES = 6, CHANGES = 3, ROWS = 150 };

typedef struct {
    pi2_routes_problem problem;
    pi2_routes_node nodes[NODES];
    pi2_routes_class classes[CLASSES];
    int routes[CLASSES][NODES];
    double hops[CLASSES][NODES];
    pi2_routes_change changes[CHANGES];
    double counts[CHANGES * CLASSES];
} scenario;

typedef struct {
    double queue[2 * NODES * ROWS], queue_delay[2 * NODES * ROWS], controller[NODES * ROWS], capacity[NODES * ROWS],
        window[CLASSES * ROWS], p[NODES * CLASSES * ROWS], leaving[NODES * CLASSES * ROWS];
    int status;
    size_t rows;
    long long steps;
} result;

static inline void point_at_own(scenario *s)
{
    s->problem.nodes = s->nodes;
    s->problem.classes = s->classes;
    s->problem.changes = s->changes;
    s->problem.counts = s->counts;
    for (int i = 0; i < CLASSES; i++) {
        s->classes[i].nodes = s->routes[i];
        s->classes[i].hops = s->hops[i];
    }
}

/* Of who sends and of capacities, which fall to `least` of what they were or rise to three times as much. */
static inline void draw_changes(scenario *s, double least)
{
    pi2_routes_problem *p = &s->problem;
    double at = 0.0;
    p->change_count = pick(CHANGES + 1);
    for (int i = 0; i < p->change_count; i++) {
        at += uniform(0.01, p->duration / CHANGES);
        s->changes[i].at = at;
        s->changes[i].node = p->node_count > 1 ? pick(p->node_count) : 0;
        s->changes[i].capacity = chance(0.5) ? NAN : s->nodes[s->changes[i].node].capacity * spread(least, 3);
        for (int j = 0; j < p->class_count; j++)
            s->counts[i * p->class_count + j] = chance(0.7) ? NAN : s->classes[j].flows.count * uniform(0, 3);
    }
}

/* In parts of `steps` steps. */
static inline void run(const pi2_routes_problem *p, long long steps, result *r)
{
    const pi2_routes_rows rows = {r->queue, r->queue_delay, r->controller, r->capacity, r->window, r->p, r->leaving};
    pi2_routes *routes = pi2_routes_create(p);
    double samples[ROWS];
    memset(r, 0, sizeof *r);
    for (int i = 0; i < ROWS; i++)
        samples[i] = i * p->duration / (ROWS - 1);
    do
        r->status = routes ? pi2_routes_advance(routes, samples, ROWS, &r->rows, rows, steps) : PI2_FLUID_NO_MEMORY;
    while (r->status == PI2_FLUID_MORE);
    r->steps = routes ? pi2_routes_steps(routes) : 0;
    pi2_routes_destroy(routes);
}

static inline int first_queue(const pi2_routes_problem *p, int node)
{
    int n = 0;
    for (int l = 0; l < node; l++)
        n += p->nodes[l].aqm->bands;
    return n;
}

static inline int count_queues(const pi2_routes_problem *p)
{
    return first_queue(p, p->node_count);
}

/* Whether it ended no worse than so, within its bounds; no more leaves than the capacity and so much of it. Steps of a fixed
 * length may be too long for a scenario, so that anything comes out; not those that adapt. */
static inline int sound(const pi2_routes_problem *p, const result *r, int worst, double slack)
{
    int good = p->tolerance == 0.0 || r->status <= worst;
    for (size_t i = 0; p->tolerance > 0.0 && good && i < r->rows; i++) {
        const size_t queues = (size_t)count_queues(p);
        const double *queue = r->queue + i * queues;
        const size_t nodes = (size_t)p->node_count, classes = (size_t)p->class_count;
        double leaves[NODES] = {0};
        int visits = 0;
        for (size_t j = 0; j < classes; j++)
            visits += p->classes[j].length;
        const size_t first = i * (size_t)visits;
        good &= within("queue_delay", (int)queues, r->queue_delay + i * queues, 0.0, 1e6)
                && within("window", (int)classes, r->window + i * classes, 0.0, 1e12)
                && within("p", visits, r->p + first, 0.0, 1.0)
                && within("leaving", visits, r->leaving + first, 0.0, INFINITY);
        for (size_t j = 0, v = first; j < classes; j++)
            for (int k = 0; k < p->classes[j].length; k++, v++)
                leaves[p->classes[j].nodes[k]] += r->leaving[v];
        for (size_t l = 0, n = i * nodes; l < nodes; l++, n++)
            good &= within("queue", p->nodes[l].aqm->bands, queue + first_queue(p, (int)l), 0.0, p->nodes[l].buffer)
                    && within("controller", 1, r->controller + n, 0.0, !strcmp(p->nodes[l].aqm->name, "price") ? 1e3 : 1.0)
                    && within("all that leaves", 1, leaves + l, 0.0, r->capacity[n] * (1 + slack));
        for (size_t l = 0; l < nodes; queue += p->nodes[l++].aqm->bands)
            if (p->nodes[l].aqm->bands == 2) {
                const double both = queue[0] + queue[1];
                good &= within("both queues", 1, &both, 0.0, p->nodes[l].buffer * (1 + 1e-6));
            }
    }
    return good;
}

static inline double distance(const pi2_routes_problem *p, const result *r, const double *queue)
{
    double worst = 0.0;
    for (int row = 0, i = 0; row < ROWS; row++)
        for (int l = 0; l < p->node_count; l++)
            for (int k = 0; k < p->nodes[l].aqm->bands; k++, i++)
                worst = fmax(worst, fabs(queue[i] - r->queue[i]) / p->nodes[l].capacity);
    return worst;
}

/* The largest difference of the queues (s) after half of the first class is another class. */
static inline double split(const scenario *s, const result *r)
{
    static scenario half;
    static result other;
    pi2_routes_problem *p = &half.problem;
    const int n = s->problem.class_count;
    half = *s;
    point_at_own(&half);
    half.classes[0].flows.count *= 0.5;
    half.classes[n] = half.classes[0];
    memcpy(half.routes[n], half.routes[0], sizeof half.routes[0]);
    memcpy(half.hops[n], half.hops[0], sizeof half.hops[0]);
    point_at_own(&half);
    p->class_count++;
    for (int i = 0; i < p->change_count; i++) {
        for (int j = 0; j < n; j++)
            half.counts[i * (n + 1) + j] = s->counts[i * n + j] * (j ? 1.0 : 0.5);
        half.counts[i * (n + 1) + n] = half.counts[i * (n + 1)];
    }
    run(p, 1 << 30, &other);
    return other.status == PI2_FLUID_DONE ? distance(&s->problem, r, other.queue) : INFINITY;
}
