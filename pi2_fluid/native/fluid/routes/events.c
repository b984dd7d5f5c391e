#include "fluid/routes/events.h"

#include "fluid/bracket.h"
#include "fluid/routes/dual.h"
#include "fluid/routes/modes.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/rates.h"
#include "fluid/routes/sides.h"
#include "fluid/routes/slopes.h"
#include "fluid/step.h"

/* Packets that a queue may miss: one that has just left 0 may begin a rounding error below. */
#define TINY 1e-9
/* Of what a comparison looks at: more than rounding. */
#define ROUNDED 1e-9

/* Packets of all queues of a node. */
static double waiting(const pi2_routes *run, int l, const double *y)
{
    const routes_node *node = run->nodes + l;
    double sum = y[run->queues[node->first].queue];
    for (int k = 1; k < node->bands; k++)
        sum += y[run->queues[node->first + k].queue];
    return sum;
}

/* How they would grow, were they free; of a point whose rates are known. */
static void find_net(const pi2_routes *run, int l, const double *y, double *net)
{
    const routes_node *node = run->nodes + l;
    if (node->bands == 2) {
        const routes_shares_of_link shares = routes_share(run, l, y, run->mode);
        net[0] = shares.net[0];
        net[1] = shares.net[1];
    } else
        net[0] = routes_arrivals(run, node->first, y) - run->mode->links[l].capacity;
}

/* Finds the rates of a point, where they are no part of it. */
static void know(pi2_routes *run, routes_point *at)
{
    if (run->alone)
        routes_look(run, at);
}

/* Positive before the event, negative beyond it; of a point whose rates are known. */
static double value(pi2_routes *run, const routes_event *event, routes_point *at)
{
    const int k = event->index;
    double slope[PI2_AQM_STATES], net[2];
    switch (event->kind) {
    case QUEUE_EMPTIES:
        return at->y[run->queues[k].queue];
    case BUFFER_FILLS:
        return run->nodes[k].buffer - waiting(run, k, at->y);
    case CLIP:
        return event->side * (event->bound - at->y[run->nodes[k].controller + event->state]);
    case SIGNALLED:
        return 1.0 - at->y[run->classes[k].expected];
    case FLOOR:
        return at->y[run->classes[k].x];
    case LIFT:
        routes_delays(run, at);
        return -routes_window_slope(run, k, at);
    case SIDE:
        know(run, at);
        routes_delays(run, at);
        routes_distances(run, k, at);
        return run->distances[event->state];
    default:
        break;
    }
    know(run, at);
    if (event->kind == QUEUE_GROWS) {
        find_net(run, run->queues[k].node, at->y, net);
        return -net[run->queues[k].band];
    }
    find_net(run, k, at->y, net);
    if (event->kind == BUFFER_DRAINS)
        return run->nodes[k].bands == 2 ? routes_growth(run, k, net) : net[0];
    routes_controller_slope(run, k, at->y, net, slope);
    return event->side * slope[event->state];
}

static void add(pi2_routes *run, int *n, int kind, int index, int state, double bound, double side)
{
    const routes_event event = {kind, index, state, bound, side};
    run->events[(*n)++] = event;
}

static void add_clips(pi2_routes *run, int l, int *n)
{
    const routes_node *node = run->nodes + l;
    const double *y = run->trial->y;
    double state[PI2_AQM_STATES], slope[PI2_AQM_STATES];
    if (!node->continuous)
        return;
    routes_state(node, y, state);
    node->aqm->saturate(node->law, state);
    routes_controller_slope(run, l, y, run->trial->net + node->first, slope);
    for (int j = 0; j < node->moving; j++) {
        const double clipped = state[node->moves[j]], is = y[node->controller + j];
        if (node->held[j] == 0.0 && is != clipped)
            add(run, n, CLIP, l, j, clipped, copysign(1.0, is - clipped));
        else if (node->held[j] * slope[j] < 0.0)
            add(run, n, RELEASE, l, j, 0.0, node->held[j]);
    }
}

static void add_bounds(pi2_routes *run, int l, int *n)
{
    const routes_node *node = run->nodes + l;
    const routes_link *link = run->mode->links + l;
    const double *net = run->trial->net + node->first;
    const int full = routes_is_full(link, node->bands);
    for (int k = 0; k < node->bands; k++) {
        if (link->bound[k] != EMPTY && run->trial->y[run->queues[node->first + k].queue] < -TINY)
            add(run, n, QUEUE_EMPTIES, node->first + k, 0, 0.0, 1.0);
        if (link->bound[k] == EMPTY && net[k] > 0.0)
            add(run, n, QUEUE_GROWS, node->first + k, 0, 0.0, 1.0);
    }
    if (!full && waiting(run, l, run->trial->y) > node->buffer)
        add(run, n, BUFFER_FILLS, l, 0, 0.0, 1.0);
    if (full && (node->bands == 2 ? routes_growth(run, l, net) : net[0]) < 0.0)
        add(run, n, BUFFER_DRAINS, l, 0, 0.0, 1.0);
}

static void add_floors(pi2_routes *run, int *n)
{
    const fluid_share *shares = routes_shares(run, run->mode);
    for (int i = 0; i < run->class_count; i++) {
        const routes_class *c = run->classes + i;
        if (!shares[i].active || !c->listens)
            continue;
        if (!run->floored[i] && run->trial->y[c->x] < 0.0)
            add(run, n, FLOOR, i, 0, 0.0, 1.0);
        else if (run->floored[i] && routes_window_slope(run, i, run->trial) > 0.0)
            add(run, n, LIFT, i, 0, 0.0, 1.0);
        if (shares[i].slow && run->trial->y[c->expected] > 1.0)
            add(run, n, SIGNALLED, i, 0, 0.0, 1.0);
    }
}

static void add_sides(pi2_routes *run, int *n)
{
    for (int k = 0; k < run->node_count + run->class_count; k++) {
        const int count = routes_distances(run, k, run->trial);
        double *beyond = run->distances + run->most_compared;
        int crossed = 0;
        for (int j = 0; j < count; j++) {
            beyond[j] = run->distances[j];
            crossed |= beyond[j] < 0.0;
        }
        if (!crossed)
            continue;
        /* What stands still a rounding error beyond has not crossed. What is far beyond was carried there by another
         * answer. */
        routes_distances(run, k, run->now);
        for (int j = 0; j < count; j++)
            if (beyond[j] < 0.0 && (beyond[j] < run->distances[j] || run->distances[j] < -ROUNDED))
                add(run, n, SIDE, k, j, 0.0, 1.0);
    }
}

int routes_crossed(pi2_routes *run)
{
    int n = 0;
    for (int l = 0; l < run->node_count; l++) {
        add_bounds(run, l, &n);
        add_clips(run, l, &n);
    }
    add_floors(run, &n);
    if (run->nodes_compare || run->rates_compare)
        add_sides(run, &n);
    return n;
}

typedef struct {
    pi2_routes *run;
    const routes_event *event;
} sought;

/* The event's value at a part of the trial step, on the cubic through its ends. */
static double value_at(void *what, double part)
{
    const sought *s = what;
    pi2_routes *run = s->run;
    const double h = run->trial->t - run->now->t;
    routes_point *at = &run->scratch;
    step_between(part, h, run->size, run->now->y, run->now->f, run->trial->y, run->trial->f, at->y);
    at->t = run->now->t + part * h;
    return value(run, s->event, at);
}

double routes_locate(pi2_routes *run, const routes_event *event)
{
    sought s = {run, event};
    return fluid_bracket(value_at, &s);
}

double routes_speed(pi2_routes *run, const routes_event *event, double *now)
{
    static const double BACK_BY = 1e-3; /* of the step */
    sought s = {run, event};
    const double before = value_at(&s, 1.0 - BACK_BY);
    *now = value(run, event, run->trial);
    return (*now - before) / (BACK_BY * (run->trial->t - run->now->t));
}

/* Puts the packets of a node exactly to its buffer: the longest queue takes what is missing. */
static void fill(pi2_routes *run, int l)
{
    const routes_node *node = run->nodes + l;
    const routes_queue *queue = run->queues + node->first;
    double *y = run->now->y;
    const int longest = node->bands == 2 && y[queue[1].queue] > y[queue[0].queue];
    y[queue[longest].queue] = node->bands == 2 ? node->buffer - y[queue[1 - longest].queue] : node->buffer;
}

void routes_apply_event(pi2_routes *run, const routes_event *event)
{
    const int k = event->index;
    double *y = run->now->y;
    switch (event->kind) {
    case QUEUE_EMPTIES:
        y[run->queues[k].queue] = 0.0;
        routes_set_bound(run, k, EMPTY);
        break;
    case QUEUE_GROWS:
        routes_set_bound(run, k, FREE);
        break;
    case BUFFER_DRAINS:
        routes_set_bounds(run, k, FULL, FREE);
        break;
    case BUFFER_FILLS:
        fill(run, k);
        routes_set_bounds(run, k, FREE, FULL);
        routes_end_slow_starts(run, k);
        break;
    case CLIP:
        y[run->nodes[k].controller + event->state] = event->bound;
        run->nodes[k].held[event->state] = event->side;
        break;
    case RELEASE:
        run->nodes[k].held[event->state] = 0.0;
        break;
    case SIDE:
        routes_turn_side(run, k, event->state);
        break;
    case FLOOR:
        y[run->classes[k].x] = 0.0;
        run->floored[k] = 1;
        break;
    case LIFT:
        run->floored[k] = 0;
        break;
    default:
        routes_end_slow_start(run, k);
    }
}
