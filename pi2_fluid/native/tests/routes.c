/* Checks the fluid over several nodes without Python, on random networks: rings, hops that take no time, all laws,
 * changes of load and capacity.
 *
 * Each must end, or say why not; stay finite and within its bounds; give the same bytes when it is interrupted and
 * resumed; give the same queues beside an idle node, if it is one node alone, and when a class is split in two. Meant to be built with -DPI2_SANITIZE=ON. Prints counts; the exit status is 1 when something is wrong.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fluid/routes/routes.h"
#include "tests/draw.h"
#include "tests/within.h"

enum { NODES = 4, CLASSES = 6, CHANGES = 3, ROWS = 150, RUNS = 300 };

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

static void point_at_own(scenario *s)
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

static void make_node(pi2_routes_node *node, int continuous)
{
    pi2_routes_node drawn;
    memset(&drawn, 0, sizeof drawn);
    node->capacity = spread(300, 5000);
    node->buffer = node->capacity * spread(0.02, 20);
    do
        draw_aqm(&drawn, node->capacity);
    while (drawn.continuous != continuous);
    node->aqm = drawn.aqm;
    node->parameters = drawn.parameters;
    memcpy(node->state, drawn.state, sizeof node->state);
    node->update_interval = drawn.update_interval;
    node->continuous = continuous;
}

static void make_route(scenario *s, int i, int nodes)
{
    pi2_routes_class *c = s->classes + i;
    double left = c->flows.base_rtt;
    int from = pick(nodes), step = 1 + pick(nodes > 1 ? nodes - 1 : 1);
    c->length = 1 + pick(nodes);
    for (int k = 0; k < c->length; k++) {
        int taken = 0, node = (from + k * step) % nodes;
        for (int j = 0; j < k; j++)
            taken |= s->routes[i][j] == node;
        if (taken) {
            c->length = k;
            break;
        }
        s->routes[i][k] = node;
        s->hops[i][k] = chance(0.4) ? 0.0 : uniform(0, 0.5) * left;
        left -= s->hops[i][k];
    }
}

/* Links with a price, and sources that answer it. */
static void make_prices(scenario *s)
{
    pi2_routes_problem *p = &s->problem;
    for (int l = 0; l < p->node_count; l++) {
        pi2_routes_node *node = s->nodes + l;
        const law_number numbers[] = {{"utilization", chance(0.5) ? 0.95 : 1.0}, {"update_interval", uniform(0.005, 0.02)},
                                      {0}};
        node->aqm = make_queue("price", numbers, node->continuous, &node->parameters, &node->update_interval);
        memset(node->state, 0, sizeof node->state);
    }
    for (int i = 0; i < p->class_count; i++) {
        pi2_fluid_class *c = &s->classes[i].flows;
        c->law = make_sender("paganini", NULL, &c->parameters);
        c->signal = PI2_FLUID_SCALABLE;
        c->thinned = 0;
        c->x[0] = uniform(1, 10);
    }
}

static int can_thin(const scenario *s, int nodes)
{
    for (int l = 0; l < nodes; l++)
        if (!s->nodes[l].aqm->encode)
            return 0;
    return 1;
}

static void make_changes(scenario *s)
{
    pi2_routes_problem *p = &s->problem;
    double at = 0.0;
    p->change_count = pick(CHANGES + 1);
    for (int i = 0; i < p->change_count; i++) {
        at += uniform(0.01, p->duration / CHANGES);
        s->changes[i].at = at;
        s->changes[i].node = pick(p->node_count);
        s->changes[i].capacity = chance(0.5) ? NAN : s->nodes[s->changes[i].node].capacity * spread(0.3, 3);
        for (int j = 0; j < p->class_count; j++)
            s->counts[i * p->class_count + j] = chance(0.7) ? NAN : s->classes[j].flows.count * uniform(0, 3);
    }
}

static void make(scenario *s)
{
    pi2_routes_problem *p = &s->problem;
    const int continuous = chance(0.5);
    double least = INFINITY;
    memset(s, 0, sizeof *s);
    point_at_own(s);
    p->duration = uniform(0.5, 3);
    p->node_count = chance(0.2) ? 1 : 2 + pick(NODES - 1);
    p->class_count = 1 + pick(CLASSES - 1);
    p->sum = chance(0.2);
    p->began = chance(0.2);
    for (int l = 0; l < p->node_count; l++) {
        make_node(s->nodes + l, continuous);
        least = fmin(least, s->nodes[l].capacity);
        if (p->began) {
            s->nodes[l].queues[0] = chance(0.5) ? 0.0 : s->nodes[l].buffer * uniform(0, 1);
            s->nodes[l].state[0] = !s->nodes[l].aqm->encode ? 0.0 : uniform(0, 0.5);
        }
    }
    for (int i = 0; i < p->class_count; i++) {
        draw_class(&s->classes[i].flows, p->duration, least, can_thin(s, p->node_count));
        make_route(s, i, p->node_count);
    }
    if (chance(0.15))
        make_prices(s);
    make_changes(s);
    p->step = p->duration;
    p->tolerance = spread(1e-9, 1e-4);
    p->most_steps = 20000;
    if (chance(0.2)) {
        p->step = spread(5e-3, 5e-2);
        p->tolerance = 0.0;
    }
}

/* In parts of `steps` steps. */
static void run(const pi2_routes_problem *p, long long steps, result *r)
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

static int first_queue(const pi2_routes_problem *p, int node)
{
    int n = 0;
    for (int l = 0; l < node; l++)
        n += p->nodes[l].aqm->bands;
    return n;
}

static int count_queues(const pi2_routes_problem *p)
{
    return first_queue(p, p->node_count);
}

/* Steps of a fixed length may be too long for a scenario, so that anything comes out; not those that adapt. */
static int sound(const pi2_routes_problem *p, const result *r)
{
    int good = p->tolerance == 0.0 || r->status <= PI2_FLUID_STUCK;
    for (size_t i = 0; p->tolerance > 0.0 && good && i < r->rows; i++) {
        const double *queue = r->queue + i * (size_t)count_queues(p);
        const size_t nodes = (size_t)p->node_count, classes = (size_t)p->class_count;
        double leaves[NODES] = {0};
        int visits = 0;
        for (size_t j = 0; j < classes; j++)
            visits += p->classes[j].length;
        const size_t first = i * (size_t)visits;
        good &= within("window", (int)classes, r->window + i * classes, 0.0, 1e12)
                && within("p", visits, r->p + first, 0.0, 1.0)
                && within("leaving", visits, r->leaving + first, 0.0, INFINITY);
        for (size_t j = 0, v = first; j < classes; j++)
            for (int k = 0; k < p->classes[j].length; k++, v++)
                leaves[p->classes[j].nodes[k]] += r->leaving[v];
        for (size_t l = 0, n = i * nodes; l < nodes; l++, n++)
            good &= within("queue", p->nodes[l].aqm->bands, queue + first_queue(p, (int)l), 0.0, p->nodes[l].buffer)
                    && within("controller", 1, r->controller + n, 0.0, !strcmp(p->nodes[l].aqm->name, "price") ? 1e3 : 1.0)
                    && within("all that leaves", 1, leaves + l, 0.0, r->capacity[n] * (1 + 1e-6));
        for (size_t l = 0; l < nodes; queue += p->nodes[l++].aqm->bands)
            if (p->nodes[l].aqm->bands == 2) {
                const double both = queue[0] + queue[1];
                good &= within("both queues", 1, &both, 0.0, p->nodes[l].buffer * (1 + 1e-6));
            }
    }
    return good;
}

static double distance(const pi2_routes_problem *p, const result *r, const double *queue)
{
    double worst = 0.0;
    for (int row = 0, i = 0; row < ROWS; row++)
        for (int l = 0; l < p->node_count; l++)
            for (int k = 0; k < p->nodes[l].aqm->bands; k++, i++)
                worst = fmax(worst, fabs(queue[i] - r->queue[i]) / p->nodes[l].capacity);
    return worst;
}

/* The largest difference of the queues (s) after half of the first class is another class. */
static double split(const scenario *s, const result *r)
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

/* The largest difference of the queues (s) of a node alone from those beside one that nobody crosses, where no way is
 * shorter for there being one node. */
static double alone(const scenario *s)
{
    static scenario single, both;
    static result r, other;
    const int bands = s->nodes[0].aqm->bands;
    double worst = 0.0;
    single = *s;
    point_at_own(&single);
    single.problem.tolerance = 1e-9;
    single.problem.step = s->problem.duration;
    single.problem.most_steps = 1000000;
    for (int i = 0; i < single.problem.class_count; i++)
        single.hops[i][0] = 0.0;
    both = single;
    point_at_own(&both);
    both.nodes[1] = both.nodes[0];
    both.problem.node_count = 2;
    run(&single.problem, 1 << 30, &r);
    run(&both.problem, 1 << 30, &other);
    if (r.status != PI2_FLUID_DONE || other.status != PI2_FLUID_DONE)
        return INFINITY;
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < bands; k++)
            worst = fmax(worst, fabs(r.queue[row * bands + k] - other.queue[2 * row * bands + k]));
    return worst / s->nodes[0].capacity;
}

int main(void)
{
    static scenario s;
    static result whole, parts;
    int ended[PI2_FLUID_NO_MEMORY + 1] = {0}, wrong = 0, equal = 0, halves = 0, ones = 0, same = 0;
    long long steps = 0;
    for (int i = 0; i < RUNS; i++) {
        make(&s);
        run(&s.problem, 1 << 30, &whole);
        run(&s.problem, 7, &parts);
        ended[whole.status]++;
        steps += whole.steps;
        if (memcmp(&whole, &parts, sizeof whole)) {
            printf("run %d gives other bytes when it is interrupted\n", i);
            wrong++;
        }
        if (!sound(&s.problem, &whole)) {
            printf("run %d: status %d, %d nodes, %d classes\n", i, whole.status, s.problem.node_count,
                   s.problem.class_count);
            wrong++;
        }
        if (whole.status != PI2_FLUID_DONE || s.problem.tolerance == 0.0)
            continue;
        halves++;
        equal += split(&s, &whole) < 1e-6;
        if (s.problem.node_count == 1) {
            ones++;
            same += alone(&s) < 1e-6;
        }
    }
    printf("%d networks, %lld steps: %d done, %d stuck, %d with a lost image; %d of %d unchanged by a split, %d of %d as "
           "beside an idle node\n",
           RUNS, steps, ended[PI2_FLUID_DONE], ended[PI2_FLUID_STUCK], ended[PI2_FLUID_LOST_IMAGE], equal, halves, same,
           ones);
    return wrong || ended[PI2_FLUID_DONE] < 0.9 * RUNS || equal < 0.9 * halves || same < 0.9 * ones;
}
