#include "fluid/routes/events.h"

#include "fluid/bracket.h"
#include "fluid/routes/modes.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/sides.h"
#include "fluid/routes/slopes.h"
#include "fluid/step.h"

/* Packets that a queue may miss: one that has just left 0 may begin a rounding error below. */
#define TINY 1e-9

/* Positive before the event, negative beyond it; of a point whose rates are known. */
static double value(pi2_routes *run, const routes_event *event, routes_point *at)
{
    const int k = event->index;
    double slope[PI2_AQM_STATES], net;
    switch (event->kind) {
    case QUEUE_EMPTIES:
        return at->y[run->nodes[k].queue];
    case BUFFER_FILLS:
        return run->nodes[k].buffer - at->y[run->nodes[k].queue];
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
        routes_delays(run, at);
        routes_distances(run, k, at);
        return run->distances[event->state];
    default:
        break;
    }
    net = routes_arrivals(run, k, at->y) - run->mode->links[k].capacity;
    if (event->kind == QUEUE_GROWS)
        return -net;
    if (event->kind == BUFFER_DRAINS)
        return net;
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
    routes_controller_slope(run, l, y, run->trial->net[l], slope);
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
    const double q = run->trial->y[run->nodes[l].queue], net = run->trial->net[l];
    const int bound = run->mode->links[l].bound;
    if (bound != EMPTY && q < -TINY)
        add(run, n, QUEUE_EMPTIES, l, 0, 0.0, 1.0);
    if (bound == EMPTY && net > 0.0)
        add(run, n, QUEUE_GROWS, l, 0, 0.0, 1.0);
    if (bound != FULL && q > run->nodes[l].buffer)
        add(run, n, BUFFER_FILLS, l, 0, 0.0, 1.0);
    if (bound == FULL && net < 0.0)
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
        routes_distances(run, k, run->now); /* what stands still a rounding error beyond has not crossed */
        for (int j = 0; j < count; j++)
            if (beyond[j] < 0.0 && beyond[j] < run->distances[j])
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

void routes_apply_event(pi2_routes *run, const routes_event *event)
{
    const int k = event->index;
    double *y = run->now->y;
    switch (event->kind) {
    case QUEUE_EMPTIES:
        y[run->nodes[k].queue] = 0.0;
        routes_set_bound(run, k, EMPTY);
        break;
    case QUEUE_GROWS:
    case BUFFER_DRAINS:
        routes_set_bound(run, k, FREE);
        break;
    case BUFFER_FILLS:
        y[run->nodes[k].queue] = run->nodes[k].buffer;
        routes_set_bound(run, k, FULL);
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
