/* Checks the clock of acknowledgements without Python: random scenarios of every law that has one, over one link or more.
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

enum { NODES = 3, LINES = 2 * NODES, CLASSES = 5, VISITS = CLASSES * NODES, CHANGES = 3, ROWS = 200, RUNS = 400 };

typedef struct {
    pi2_acks_problem problem;
    pi2_acks_node nodes[NODES];
    pi2_acks_class classes[CLASSES];
    pi2_acks_visit visits[CLASSES][NODES];
    pi2_routes_change changes[CHANGES];
    int order[NODES + CLASSES];
    int lines, visit_count, first_line[NODES];
} scenario;

typedef struct {
    double queue[LINES * ROWS], queue_delay[LINES * ROWS], controller[NODES * ROWS], capacity[NODES * ROWS],
        window[CLASSES * ROWS], p[VISITS * ROWS], leaving[VISITS * ROWS];
    double sent[CLASSES], acked[CLASSES], came[VISITS], left[VISITS], arrived[LINES], lost[LINES];
    int status;
    size_t rows, kept;
    long long steps;
} result;

static void make_node(pi2_acks_node *node)
{
    pi2_routes_node drawn = {0};
    node->capacity = spread(100, 20000);
    node->buffer = node->capacity * spread(0.02, 20);
    do
        draw_aqm(&drawn, node->capacity);
    while (drawn.continuous || !drawn.aqm->encode || !drawn.aqm->still || isinf(drawn.update_interval));
    node->aqm = drawn.aqm;
    node->parameters = drawn.parameters;
    node->update_interval = drawn.update_interval;
    memcpy(node->state, drawn.state, sizeof drawn.state);
    node->at_dequeue = chance(0.5);
    node->head = chance(0.5);
}

/* Over the nodes from some one on, so that there are no rings, with hops of which some are shorter than a step. */
static void make_way(scenario *s, int i, int signal, int thinned)
{
    static const double hops[] = {0.0, 0.0, 0.0003, 0.002};
    const pi2_acks_problem *p = &s->problem;
    pi2_acks_class *c = s->classes + i;
    const int first = pick(p->node_count);
    double took = 0.0;
    c->length = 1 + pick(p->node_count - first);
    c->visits = s->visits[i];
    for (int j = 0; j < c->length; j++) {
        pi2_acks_visit *visit = s->visits[i] + j;
        visit->node = first + j;
        visit->signal = signal;
        visit->thinned = thinned && p->nodes[visit->node].aqm->bands == 1;
        visit->band = signal == PI2_FLUID_SCALABLE && p->nodes[visit->node].aqm->bands == 2;
        visit->hop = hops[pick(4)];
        visit->took = took += visit->hop;
    }
    c->back = c->base_rtt - took;
}

static void make_class(scenario *s, int i)
{
    static const char *const names[] = {"reno", "reno", "scalable", "cubic", "cbr"};
    static const double paths[] = {0.01, 0.03, 0.03, 0.1};
    const pi2_acks_problem *p = &s->problem;
    const int kind = pick(5);
    pi2_acks_class *c = s->classes + i;
    pi2_fluid_class given;
    double capacity;
    c->steady = kind == 4;
    c->slow_start = kind != 4 && chance(0.5);
    c->spreads = kind == 0 || kind == 1 || kind == 3;
    c->copied = -1;
    c->base_rtt = paths[pick(4)];
    c->round_trip = c->base_rtt + 0.02;
    make_way(s, i, kind == 2 ? PI2_FLUID_SCALABLE : PI2_FLUID_CLASSIC, c->steady && chance(0.5));
    capacity = p->nodes[c->visits[0].node].capacity;
    c->count = capacity * c->base_rtt * uniform(0.02, 0.3);
    c->start = chance(0.5) ? 0.0 : uniform(0, p->duration / 2);
    c->stop = chance(0.7) ? INFINITY : c->start + uniform(0.1, p->duration / 2);
    c->start_jitter = c->steady && chance(0.5) ? uniform(0.01, 0.5) : 0.0;
    give_law(&given, names[kind], capacity / c->count * uniform(0.05, 0.9));
    c->law = given.law;
    c->parameters = given.parameters;
    memcpy(c->x, given.x, sizeof c->x);
}

/* Flows that join the last class, if it has a window, as copies. */
static void make_copies(scenario *s)
{
    pi2_acks_problem *p = &s->problem;
    const int i = p->class_count - 1;
    pi2_acks_class *joins = s->classes + i + 1;
    if (s->classes[i].steady || chance(0.5))
        return;
    *joins = s->classes[i];
    memcpy(s->visits[i + 1], s->visits[i], sizeof s->visits[i]);
    joins->visits = s->visits[i + 1];
    joins->copied = i;
    joins->start += uniform(0.05, p->duration / 2);
    joins->stop = INFINITY;
    p->class_count++;
}

static void make_changes(scenario *s)
{
    pi2_acks_problem *p = &s->problem;
    double at = 0.0;
    p->change_count = pick(CHANGES + 1);
    for (int i = 0; i < p->change_count; i++) {
        at += uniform(0.01, p->duration / CHANGES);
        s->changes[i].at = at;
        s->changes[i].node = pick(p->node_count);
        s->changes[i].capacity = s->nodes[s->changes[i].node].capacity * spread(0.2, 3);
    }
}

static void make(scenario *s)
{
    pi2_acks_problem *p = &s->problem;
    memset(s, 0, sizeof *s);
    p->duration = uniform(0.5, 5);
    p->nodes = s->nodes;
    p->classes = s->classes;
    p->changes = s->changes;
    p->order = s->order;
    p->sum = chance(0.3);
    p->node_count = 1 + pick(NODES);
    for (int k = 0; k < p->node_count; k++) {
        make_node(s->nodes + k);
        s->first_line[k] = s->lines;
        s->lines += s->nodes[k].aqm->bands;
    }
    p->class_count = 1 + pick(CLASSES - 1);
    for (int i = 0; i < p->class_count; i++)
        make_class(s, i);
    make_copies(s);
    make_changes(s);
    for (int i = 0; i < p->class_count; i++)
        s->visit_count += s->classes[i].length;
    for (int i = 0; i < p->class_count + p->node_count; i++)
        s->order[i] = i;
    p->past = 10.0;
    /* With one link as long as the shortest path. */
    p->step = chance(0.4) ? 0.001 : p->node_count > 1 || chance(0.5) ? 0.003 : 0.007;
    p->most_steps = 1000000;
    p->most_bytes = 1e9;
}

static void run(const pi2_acks_problem *p, long long steps, result *r)
{
    const pi2_routes_rows rows = {r->queue, r->queue_delay, r->controller, r->capacity, r->window, r->p, r->leaving};
    const pi2_acks_counts counts = {r->sent, r->acked, r->came, r->left, r->arrived, r->lost};
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

/* Of one row: backlogs fit, and links serve no more than they can. */
static int links_are_sound(const scenario *s, const result *r, int row)
{
    double queue[NODES] = {0.0}, leaving[NODES] = {0.0};
    int visit = row * s->visit_count;
    for (int i = 0; i < s->problem.class_count; i++)
        for (int j = 0; j < s->classes[i].length; j++, visit++) {
            if (!within(r->p[visit], 0.0, 1.0))
                return 0;
            leaving[s->visits[i][j].node] += r->leaving[visit];
        }
    for (int k = 0; k < s->problem.node_count; k++) {
        for (int j = 0; j < s->nodes[k].aqm->bands; j++) {
            const int line = row * s->lines + s->first_line[k] + j;
            queue[k] += r->queue[line];
            if (!within(r->queue_delay[line], 0.0, INFINITY) || !(r->queue[line] >= 0.0))
                return 0;
        }
        /* What leaves is counted in two ways, whose difference is that of large numbers over a short time. */
        if (!within(queue[k], 0.0, s->nodes[k].buffer * (1.0 + 1e-9))
            || !within(leaving[k], 0.0, r->capacity[row * s->problem.node_count + k] * (1.0 + 1e-6) + 1e-3))
            return 0;
    }
    return 1;
}

static int sound(const scenario *s, const result *r)
{
    for (int row = 0; row < ROWS; row++) {
        if (!links_are_sound(s, r, row))
            return 0;
        for (int i = 0; i < s->problem.class_count; i++)
            if (!within(r->window[row * s->problem.class_count + i], 0.0, 1e9))
                return 0;
    }
    return 1;
}

/* Nothing overtakes; and every packet that came has been lost, or waits, or has left. */
static int conserved(const scenario *s, const result *r)
{
    double came[LINES] = {0.0}, left[LINES] = {0.0};
    int visit = 0;
    for (int i = 0; i < s->problem.class_count; i++) {
        double before = r->sent[i];
        for (int j = 0; j < s->classes[i].length; j++, visit++) {
            const int line = s->first_line[s->visits[i][j].node] + s->visits[i][j].band;
            if (r->came[visit] > before * (1.0 + 1e-12) + 1e-9
                || r->left[visit] > r->came[visit] * (1.0 + 1e-12) + 1e-9)
                return 0;
            came[line] += r->came[visit];
            left[line] += r->left[visit];
            before = r->left[visit];
        }
        if (r->acked[i] > before * (1.0 + 1e-12) + 1e-9)
            return 0;
    }
    for (int k = 0; k < s->lines; k++) {
        const double queue = r->queue[(ROWS - 1) * s->lines + k], scale = 1.0 + came[k];
        if (!(fabs(came[k] - r->arrived[k] - r->lost[k]) <= 1e-12 * scale))
            return 0;
        if (r->lost[k] == 0.0 && !(fabs(came[k] - left[k] - queue) <= 1e-11 * scale))
            return 0;
    }
    return 1;
}

/* Nodes for as long as packets may wait somewhere, in steps that ticks make half as long. */
static size_t most_kept(const scenario *s)
{
    double longest = 0.0;
    for (int k = 0; k < s->problem.node_count; k++)
        longest = fmax(longest, s->nodes[k].buffer / (0.002 * s->nodes[k].capacity));
    return 2000 + (size_t)(longest / s->problem.step);
}

int main(void)
{
    static scenario s;
    static result whole, parts;
    int wrong = 0, lossy = 0, several = 0;
    long long steps = 0;
    for (int i = 0; i < RUNS; i++) {
        const char *what;
        make(&s);
        run(&s.problem, 1 << 30, &whole);
        run(&s.problem, 7, &parts);
        steps += whole.steps;
        several += s.problem.node_count > 1;
        for (int k = 0; k < s.lines; k++)
            if (whole.lost[k] > 0.0) {
                lossy++;
                break;
            }
        what = whole.status != PI2_FLUID_DONE ? "does not end"
               : !sound(&s, &whole)           ? "is out of its bounds"
               : !conserved(&s, &whole)       ? "loses packets"
                                              : NULL;
        if (!what && parts.kept > most_kept(&s))
            what = "keeps too much of the past";
        parts.kept = whole.kept;
        if (!what && memcmp(&whole, &parts, sizeof whole))
            what = "gives other bytes when it is interrupted";
        if (what) {
            printf("run %d, %d links, %s, status %d: %s\n", i, s.problem.node_count, s.nodes[0].aqm->name, whole.status,
                   what);
            wrong++;
        }
    }
    printf("%d scenarios, %d of several links, %lld steps, %d with a full buffer\n", RUNS, several, steps, lossy);
    return wrong != 0;
}
