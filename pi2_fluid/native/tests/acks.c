/* Checks the clock of acknowledgements without Python: random scenarios of every law that has one.
 *
 * Each must come to its end, stay finite and within its bounds, keep every packet that was sent, forget the past that
 * nobody looks at, and give the same bytes when it is interrupted and resumed. Meant to be built with
 * -DPI2_SANITIZE=ON. Prints counts; the exit status is 1 when something is wrong.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fluid/acks/acks.h"
#include "tests/draw.h"

enum { CLASSES = 5, CHANGES = 3, ROWS = 200, RUNS = 400 };

typedef struct {
    pi2_acks_problem problem;
    pi2_acks_class classes[CLASSES];
    pi2_fluid_change changes[CHANGES];
} scenario;

typedef struct {
    double queue[2 * ROWS], queue_delay[2 * ROWS], controller[ROWS], capacity[ROWS], p[CLASSES * ROWS],
        window[CLASSES * ROWS], leaving[CLASSES * ROWS];
    double sent[CLASSES], left[CLASSES], acked[CLASSES], arrived[2], lost[2];
    int status;
    size_t rows, kept;
    long long steps;
} result;

static void make_aqm(pi2_acks_problem *p)
{
    pi2_routes_node drawn = {0};
    do
        draw_aqm(&drawn, p->capacity);
    while (drawn.continuous || !drawn.aqm->encode || !drawn.aqm->still || isinf(drawn.update_interval));
    p->aqm = drawn.aqm;
    p->parameters = drawn.parameters;
    p->update_interval = drawn.update_interval;
    memcpy(p->state, drawn.state, sizeof drawn.state);
    p->at_dequeue = chance(0.5);
    p->head = chance(0.5);
}

static void make_class(pi2_acks_class *c, const pi2_acks_problem *p)
{
    static const char *const names[] = {"reno", "reno", "scalable", "cubic", "cbr"};
    static const double paths[] = {0.01, 0.03, 0.03, 0.1};
    const int kind = pick(5);
    pi2_fluid_class given;
    memset(c, 0, sizeof *c);
    c->steady = kind == 4;
    c->signal = kind == 4 ? PI2_FLUID_DEAF : kind == 2 ? PI2_FLUID_SCALABLE : PI2_FLUID_CLASSIC;
    c->band = kind == 2 && p->aqm->bands == 2;
    c->thinned = kind == 4 && chance(0.5);
    c->slow_start = kind != 4 && chance(0.5);
    c->spreads = kind == 0 || kind == 1 || kind == 3;
    c->copied = -1;
    c->base_rtt = paths[pick(4)];
    c->round_trip = c->base_rtt + 0.02;
    c->count = p->capacity * c->base_rtt * uniform(0.02, 0.3);
    c->start = chance(0.5) ? 0.0 : uniform(0, p->duration / 2);
    c->stop = chance(0.7) ? INFINITY : c->start + uniform(0.1, p->duration / 2);
    c->start_jitter = c->steady && chance(0.5) ? uniform(0.01, 0.5) : 0.0;
    give_law(&given, names[kind], p->capacity / c->count * uniform(0.05, 0.9));
    c->law = given.law;
    c->parameters = given.parameters;
    memcpy(c->x, given.x, sizeof c->x);
}

/* Flows that join the last class, if it has a window, as copies. */
static void make_copies(scenario *s)
{
    pi2_acks_problem *p = &s->problem;
    const pi2_acks_class *last = s->classes + p->class_count - 1;
    pi2_acks_class *joins = s->classes + p->class_count;
    if (last->steady || chance(0.5))
        return;
    *joins = *last;
    joins->copied = p->class_count++ - 1;
    joins->start = last->start + uniform(0.05, p->duration / 2);
    joins->stop = INFINITY;
}

static void make_changes(scenario *s)
{
    pi2_acks_problem *p = &s->problem;
    double at = 0.0;
    p->change_count = pick(CHANGES + 1);
    for (int i = 0; i < p->change_count; i++) {
        at += uniform(0.01, p->duration / CHANGES);
        s->changes[i].at = at;
        s->changes[i].capacity = p->capacity * spread(0.2, 3);
    }
}

static void make(scenario *s)
{
    pi2_acks_problem *p = &s->problem;
    memset(s, 0, sizeof *s);
    p->duration = uniform(0.5, 5);
    p->capacity = spread(100, 20000);
    p->buffer = p->capacity * spread(0.02, 20);
    make_aqm(p);
    p->class_count = 1 + pick(CLASSES - 1);
    for (int i = 0; i < p->class_count; i++)
        make_class(s->classes + i, p);
    make_copies(s);
    make_changes(s);
    p->classes = s->classes;
    p->changes = s->changes;
    p->past = 10.0;
    p->step = chance(0.4) ? 0.001 : chance(0.5) ? 0.004 : 0.01 * (1.0 - 1e-13); /* as long as the shortest path */
    p->most_steps = 1000000;
    p->most_bytes = 1e9;
}

static void run(const pi2_acks_problem *p, long long steps, result *r)
{
    const pi2_fluid_rows rows = {r->queue, r->queue_delay, r->controller, r->capacity, r->p, r->window, r->leaving};
    const pi2_acks_counts counts = {r->sent, r->left, r->acked, r->arrived, r->lost};
    pi2_acks *made = pi2_acks_create(p);
    double samples[ROWS];
    memset(r, 0, sizeof *r);
    if (!made) {
        r->status = PI2_FLUID_NO_MEMORY;
        return;
    }
    for (int i = 0; i < ROWS; i++)
        samples[i] = i * p->duration / (ROWS - 1);
    do {
        r->status = pi2_acks_advance(made, samples, ROWS, &r->rows, rows, steps);
        if (pi2_acks_kept(made) > r->kept)
            r->kept = pi2_acks_kept(made);
    } while (r->status == PI2_FLUID_MORE);
    r->steps = pi2_acks_steps(made);
    pi2_acks_count(made, counts);
    pi2_acks_destroy(made);
}

static int within(double x, double low, double high)
{
    return x >= low - 1e-9 && x <= high + 1e-9;
}

static int sound(const pi2_acks_problem *p, const result *r)
{
    const int bands = p->aqm->bands;
    for (int i = 0; i < ROWS; i++) {
        double queue = 0.0, leaving = 0.0;
        for (int k = 0; k < bands; k++) {
            queue += r->queue[i * bands + k];
            if (!within(r->queue_delay[i * bands + k], 0.0, INFINITY) || !(r->queue[i * bands + k] >= 0.0))
                return 0;
        }
        for (int j = 0; j < p->class_count; j++) {
            leaving += r->leaving[i * p->class_count + j];
            if (!within(r->p[i * p->class_count + j], 0.0, 1.0) || !within(r->window[i * p->class_count + j], 0.0, 1e9))
                return 0;
        }
        /* What leaves is counted in two ways, whose difference is that of large numbers over a short time. */
        if (!within(queue, 0.0, p->buffer * (1.0 + 1e-9)) || !within(leaving, 0.0, r->capacity[i] * (1.0 + 1e-6) + 1e-3))
            return 0;
    }
    return 1;
}

/* Every packet that was sent has arrived or found no room; what has arrived waits or has left. */
static int conserved(const scenario *s, const result *r)
{
    double sent[2] = {0.0, 0.0}, left[2] = {0.0, 0.0};
    for (int j = 0; j < s->problem.class_count; j++) {
        sent[s->classes[j].band] += r->sent[j];
        left[s->classes[j].band] += r->left[j];
        if (r->left[j] > r->sent[j] * (1.0 + 1e-12) + 1e-9 || r->acked[j] > r->left[j] * (1.0 + 1e-12) + 1e-9)
            return 0;
    }
    for (int k = 0; k < s->problem.aqm->bands; k++) {
        const double queue = r->queue[(ROWS - 1) * s->problem.aqm->bands + k], scale = 1.0 + sent[k];
        if (!(fabs(sent[k] - r->arrived[k] - r->lost[k]) <= 1e-12 * scale))
            return 0;
        if (r->lost[k] == 0.0 && !(fabs(sent[k] - left[k] - queue) <= 1e-11 * scale))
            return 0;
    }
    return 1;
}

int main(void)
{
    static scenario s;
    static result whole, parts;
    int wrong = 0, lossy = 0;
    long long steps = 0;
    for (int i = 0; i < RUNS; i++) {
        const char *what;
        make(&s);
        run(&s.problem, 1 << 30, &whole);
        run(&s.problem, 7, &parts);
        steps += whole.steps;
        lossy += whole.lost[0] > 0.0;
        what = whole.status != PI2_FLUID_DONE ? "does not end"
               : !sound(&s.problem, &whole)   ? "is out of its bounds"
               : !conserved(&s, &whole)       ? "loses packets"
                                              : NULL;
        if (!what && parts.kept > 2000 + (size_t)(s.problem.buffer / (0.002 * s.problem.capacity) / s.problem.step))
            what = "keeps too much of the past";
        parts.kept = whole.kept;
        if (!what && memcmp(&whole, &parts, sizeof whole))
            what = "gives other bytes when it is interrupted";
        if (what) {
            printf("run %d, %s, status %d: %s\n", i, s.problem.aqm->name, whole.status, what);
            wrong++;
        }
    }
    printf("%d scenarios, %lld steps, %d with a full buffer\n", RUNS, steps, lossy);
    return wrong != 0;
}
