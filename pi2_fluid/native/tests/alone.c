/* Checks the fluid through one node without Python: a closed form, then random scenarios of every law.
 *
 * Each must end, or say why not; stay finite and within its bounds; give the same bytes when it is interrupted and
 * resumed; and, as a rule, the same queue when a class is split in two. Meant to be built with -DPI2_SANITIZE=ON.
 * Prints counts and the worst difference; the exit status is 1 when something is wrong.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fluid/routes/routes.h"
#include "tests/draw.h"
#include "tests/within.h"

enum { CLASSES = 4, CHANGES = 3, ROWS = 250, RUNS = 2500 };

typedef struct {
    pi2_routes_problem problem;
    pi2_routes_node node;
    pi2_routes_class classes[CLASSES];
    pi2_routes_change changes[CHANGES];
    double counts[CHANGES * CLASSES];
} scenario;

typedef struct {
    double queue[2 * ROWS], queue_delay[2 * ROWS], controller[ROWS], capacity[ROWS], p[CLASSES * ROWS],
        window[CLASSES * ROWS], leaving[CLASSES * ROWS];
    int status;
    size_t rows;
    long long steps;
} result;

static void point_at_own(scenario *s)
{
    static const int only[1] = {0};
    static const double at_once[1] = {0.0};
    pi2_routes_problem *p = &s->problem;
    p->node_count = 1;
    p->nodes = &s->node;
    p->classes = s->classes;
    p->changes = s->changes;
    p->counts = s->counts;
    for (int i = 0; i < CLASSES; i++) {
        s->classes[i].length = 1;
        s->classes[i].nodes = only;
        s->classes[i].hops = at_once;
    }
}

static void make_changes(scenario *s)
{
    pi2_routes_problem *p = &s->problem;
    double at = 0.0;
    p->change_count = pick(CHANGES + 1);
    for (int i = 0; i < p->change_count; i++) {
        at += uniform(0.01, p->duration / CHANGES);
        s->changes[i].at = at;
        s->changes[i].node = 0;
        s->changes[i].capacity = chance(0.5) ? NAN : s->node.capacity * spread(0.2, 3);
        for (int j = 0; j < p->class_count; j++)
            s->counts[i * p->class_count + j] = chance(0.7) ? NAN : s->classes[j].flows.count * uniform(0, 3);
    }
}

static void make(scenario *s)
{
    pi2_routes_problem *p = &s->problem;
    pi2_routes_node *node = &s->node;
    memset(s, 0, sizeof *s);
    p->duration = uniform(0.5, 5);
    point_at_own(s);
    node->capacity = spread(100, 20000);
    node->buffer = node->capacity * spread(0.02, 20);
    draw_aqm(node, node->capacity);
    p->class_count = 1 + pick(CLASSES - 1);
    for (int i = 0; i < p->class_count; i++)
        draw_class(&s->classes[i].flows, p->duration, node->capacity, node->aqm->encode != NULL);
    make_changes(s);
    if (chance(0.2)) {
        p->began = 1;
        node->queues[0] = node->buffer * uniform(0, 1);
        node->state[0] = !node->aqm->encode ? 0.0 : uniform(0, 0.5);
    }
    p->step = chance(0.5) ? p->duration : spread(2e-3, 0.1);
    p->tolerance = chance(0.5) ? spread(1e-9, 1e-3) : 0.0;
    if (p->tolerance == 0.0)
        p->step = spread(5e-3, 0.1);
    p->most_steps = 20000;
}

/* In parts of `steps` steps. */
static void run(const pi2_routes_problem *p, long long steps, result *r)
{
    const pi2_routes_rows rows = {r->queue, r->queue_delay, r->controller, r->capacity, r->window, r->p, r->leaving};
    pi2_routes *fluid = pi2_routes_create(p);
    double samples[ROWS];
    memset(r, 0, sizeof *r);
    for (int i = 0; i < ROWS; i++)
        samples[i] = i * p->duration / (ROWS - 1);
    do
        r->status = fluid ? pi2_routes_advance(fluid, samples, ROWS, &r->rows, rows, steps) : PI2_FLUID_NO_MEMORY;
    while (r->status == PI2_FLUID_MORE);
    r->steps = fluid ? pi2_routes_steps(fluid) : 0;
    pi2_routes_destroy(fluid);
}

/* Steps of a fixed length may be too long for a scenario, so that anything comes out; not those that adapt. */
static int sound(const pi2_routes_problem *p, const result *r)
{
    const int rows = (int)r->rows, bands = p->nodes->aqm->bands, classes = p->class_count;
    if (p->tolerance == 0.0)
        return 1;
    if (r->status > PI2_FLUID_LOST_IMAGE)
        return 0;
    for (int i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int j = 0; j < classes; j++)
            sum += r->leaving[i * classes + j];
        if (!within("leaving", 1, &sum, 0.0, r->capacity[i] * (1 + 1e-9)))
            return 0;
    }
    return within("queue", bands * rows, r->queue, 0.0, p->nodes->buffer) && within("p", classes * rows, r->p, 0.0, 1.0)
           && within("queue_delay", bands * rows, r->queue_delay, 0.0, 1e6)
           && within("window", classes * rows, r->window, 0.0, 1e12)
           && within("controller", rows, r->controller, 0.0, 1.0)
           && within("leaving", classes * rows, r->leaving, 0.0, INFINITY);
}

/* The largest difference of the queues, in parts of the capacity, after half of the first class is another class. */
static double split(const scenario *s, const result *r)
{
    static scenario half;
    static result other;
    pi2_routes_problem *p = &half.problem;
    double worst = 0.0;
    half = *s;
    point_at_own(&half);
    half.classes[0].flows.count *= 0.5;
    half.classes[p->class_count] = half.classes[0];
    p->class_count++;
    for (int i = 0; i < p->change_count; i++) {
        for (int j = 0; j < s->problem.class_count; j++)
            half.counts[i * p->class_count + j] = s->counts[i * s->problem.class_count + j] * (j ? 1.0 : 0.5);
        half.counts[i * p->class_count + s->problem.class_count] = half.counts[i * p->class_count];
    }
    run(p, 1 << 30, &other);
    if (other.status != PI2_FLUID_DONE)
        return INFINITY;
    for (int i = 0; i < ROWS * p->nodes->aqm->bands; i++)
        worst = fmax(worst, fabs(other.queue[i] - r->queue[i]) / p->nodes->capacity);
    return worst;
}

/* While the queue is empty and nobody is signalled, windows grow as 1/base_rtt, and it is empty until
 * (base_rtt C/N - W) base_rtt. */
static int closed_form(void)
{
    static scenario s;
    static result r;
    pi2_routes_problem *p = &s.problem;
    pi2_fluid_class *flows = &s.classes[0].flows;
    const law_number none[] = {{0}};
    const double fills = (0.1 * 2500 / 3 / 5 - 1) * 0.1;
    memset(&s, 0, sizeof s);
    point_at_own(&s);
    p->duration = 2.0;
    s.node.capacity = 2500.0 / 3;
    s.node.buffer = 1e9;
    s.node.aqm = make_queue("pi2", none, 0, &s.node.parameters, &s.node.update_interval);
    p->class_count = 1;
    do
        flows->law = make_sender("reno", none, &flows->parameters);
    while (!flows->law->plain.known);
    flows->count = 5;
    flows->base_rtt = 0.1;
    flows->stop = INFINITY;
    flows->x[0] = 1.0;
    p->step = 0.01;
    p->most_steps = 100000;
    run(p, 1 << 30, &r);
    for (int i = 0; i < ROWS; i++) {
        const double t = i * p->duration / (ROWS - 1);
        const double w = 1 + t / 0.1;
        if (t < fills && (r.queue[i] != 0.0 || fabs(r.window[i] - w) > 1e-12 * w)) {
            printf("at t = %g s the queue is %g and the window %.17g instead of 0 and %.17g\n", t, r.queue[i],
                   r.window[i], w);
            return 0;
        }
        if (t > fills + 1e-9 && !(r.queue[i] > 0.0)) {
            printf("at t = %g s the queue is still empty\n", t);
            return 0;
        }
    }
    return r.status == PI2_FLUID_DONE;
}

int main(void)
{
    static scenario s;
    static result whole, parts;
    int ended[PI2_FLUID_NO_MEMORY + 1] = {0}, wrong = !closed_form(), equal = 0, halves = 0;
    long long steps = 0;
    for (int i = 0; i < RUNS; i++) {
        double difference;
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
            printf("run %d: %s, status %d\n", i, s.node.aqm->name, whole.status);
            wrong++;
        }
        if (whole.status == PI2_FLUID_DONE && s.node.aqm->bands == 1) {
            difference = split(&s, &whole);
            halves++;
            equal += difference < 1e-9;
        }
    }
    printf("%d scenarios, %lld steps: %d done, %d stuck, %d with a lost image; %d of %d unchanged by a split\n", RUNS,
           steps, ended[PI2_FLUID_DONE], ended[PI2_FLUID_STUCK], ended[PI2_FLUID_LOST_IMAGE], equal, halves);
    return wrong || ended[PI2_FLUID_DONE] < 0.9 * RUNS || equal < 0.9 * halves;
}
