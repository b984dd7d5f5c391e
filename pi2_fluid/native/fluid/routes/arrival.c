/* What happens at the end of a step: events, changes, ticks, images, and the marks that all of them leave. Whatever
 * jumps then, in value or in slope, is found by comparing what is before with what is after, and marked for those who
 * read it. So breakpoints travel: what has changed in a queue reaches the next node when it leaves. */
#include "fluid/routes/arrival.h"

#include <string.h>

#include "fluid/routes/dual.h"
#include "fluid/routes/events.h"
#include "fluid/routes/images.h"
#include "fluid/routes/lean.h"
#include "fluid/routes/modes.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/rates.h"
#include "fluid/routes/readers.h"
#include "fluid/routes/schedule.h"
#include "fluid/routes/sides.h"
#include "fluid/routes/slopes.h"
#include "fluid/routes/trial.h"

#define NEGLIGIBLE 0.1 /* of the tolerance: jumps below it are stepped over */
#define FIXED 1e-9     /* as a tolerance when steps do not adapt */
#define NEVER 9        /* no derivative of that order is looked at */
#define RELATIVE 0.1   /* added to a window (segments) to make its jumps relative */

static void keep_before(pi2_routes *run)
{
    memcpy(run->before.y, run->now->y, (size_t)run->stored * sizeof(double));
    memcpy(run->before.f, run->now->f, (size_t)run->stored * sizeof(double));
    memcpy(run->before.tau, run->now->tau, (size_t)run->queue_count * sizeof(double));
    if (run->dual)
        memcpy(run->before.d_tau, run->now->d_tau, (size_t)run->queue_count * sizeof(double));
    if (run->nodes_compare)
        memcpy(run->sides_before, routes_mode_sides(run, run->mode), (size_t)run->node_sides);
}

static double allowed(const pi2_routes *run)
{
    return NEGLIGIBLE * (run->tolerance > 0.0 ? run->tolerance : FIXED);
}

/* The signals of a class as they are with another state, and other answers, of the controller of one of its nodes. */
static double signal_with(const pi2_routes *run, int i, int l, const double *state, const signed char *sides)
{
    const routes_class *c = run->classes + i;
    double together = 0.0;
    pi2_seen seen;
    routes_seen(run, l, run->now->y, run->mode, &seen);
    for (int v = c->from; v < c->end; v++) {
        const int at = run->visits[v].node;
        const routes_node *node = run->nodes + at;
        const pi2_signal signals = at == l ? node->aqm->signals(node->law, state, &seen, sides)
                                           : routes_signals(run, at, run->now->y, run->mode);
        together = routes_combine(run, together, routes_signal_of(c, signals));
    }
    return together;
}

/* Of which order the jump of a node's signals is for class i: 0 of the value, 1 of the slope. */
static int order_of_signals(const pi2_routes *run, int i, int l)
{
    const routes_node *node = run->nodes + l;
    const routes_class *c = run->classes + i;
    const double rtt = run->now->rtt[i], h = run->step < rtt ? run->step : rtt;
    const int comparisons = node->aqm->comparisons;
    const signed char *sides = comparisons ? routes_sides(run, run->mode, l) : NULL;
    const signed char *sides_before = comparisons ? run->sides_before + node->sides : NULL;
    const int turned = comparisons && memcmp(sides, sides_before, (size_t)comparisons) != 0;
    double old[PI2_AQM_STATES], new[PI2_AQM_STATES], before[PI2_SENDER_STATES], after[PI2_SENDER_STATES], p, q;
    for (int order = 0; order < 2; order++) {
        int moved = turned;
        routes_state(node, order ? run->now->y : run->before.y, old);
        routes_state(node, run->now->y, new);
        for (int j = 0; order && j < node->moving; j++) {
            old[node->moves[j]] -= h * run->before.f[node->controller + j]; /* back: ahead there may be a clip */
            new[node->moves[j]] -= h * run->now->f[node->controller + j];
        }
        for (int j = 0; j < node->moving; j++)
            moved |= old[node->moves[j]] != new[node->moves[j]];
        if (!moved)
            continue;
        if (order) {
            node->aqm->saturate(node->law, old);
            node->aqm->saturate(node->law, new);
        }
        p = signal_with(run, i, l, old, sides_before);
        q = signal_with(run, i, l, new, sides);
        routes_slopes_at_rest(run, i, run->now, p, before);
        routes_slopes_at_rest(run, i, run->now, q, after);
        if (c->answers && fabs(routes_rate(c, run->now->y + c->x, p, rtt) - routes_rate(c, run->now->y + c->x, q, rtt))
                                  * routes_shares(run, run->mode)[i].count > allowed(run) * run->weights[c->sent])
            return order;
        for (int j = 0; j < c->states; j++)
            if (fabs(after[j] - before[j]) * h > allowed(run) * (fabs(run->now->y[c->x + j]) + RELATIVE))
                return order;
    }
    return turned && node->aqm->queue_signals ? 1 : NEVER; /* what is seen moves as well */
}

static int order_of_window(const pi2_routes *run, int i)
{
    const routes_class *c = run->classes + i;
    const double rtt = run->now->rtt[i], h = run->step < rtt ? run->step : rtt;
    for (int j = c->x; j < c->x + c->states; j++) {
        const double scale = allowed(run) * (fabs(run->now->y[j]) + RELATIVE);
        if (fabs(run->now->y[j] - run->before.y[j]) > scale)
            return 0;
        if (fabs(run->now->f[j] - run->before.f[j]) * (h * h / rtt) > scale)
            return 1;
    }
    return NEVER;
}

/* Of a rate: its scale is a capacity. */
static int order_of_rate(const pi2_routes *run, int j)
{
    const double scale = allowed(run) * run->weights[j], ahead = 4.0 * run->proposal;
    const double h = ahead < run->step ? ahead : run->step;
    if (fabs(run->now->y[j] - run->before.y[j]) > scale)
        return 0;
    return fabs(run->now->f[j] - run->before.f[j]) * h > scale ? 1 : NEVER;
}

/* Whether the delay of one of two queues has jumped: it follows from rates, which are known to rounding. */
static int has_jumped(const pi2_routes *run, int k)
{
    const double after = run->now->tau[k];
    return fabs(after - run->before.tau[k]) > allowed(run) * (after + QUEUE_WEIGHT);
}

/* Of a queue, whose delay is part of a round-trip time. */
static int order_of_queue(const pi2_routes *run, int k)
{
    const int j = run->queues[k].queue, l = run->queues[k].node;
    if (run->nodes[l].bands == 2) {
        if (has_jumped(run, k))
            return 0;
        return fabs(run->now->d_tau[k] - run->before.d_tau[k]) > allowed(run) ? 1 : NEVER;
    }
    if (run->now->tau[k] != run->before.tau[k])
        return 0;
    return fabs(run->now->f[j] - run->before.f[j]) > allowed(run) * run->mode->links[l].capacity ? 1 : NEVER;
}

/* The capacity behind what entered a queue. */
static double capacity_of(const pi2_routes *run, int j)
{
    return run->mode->links[run->queues[j - run->entered].node].capacity;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Marks, for those who read it, whatever has jumped since keep_before. */
static void mark_jumps(pi2_routes *run)
{
    const fluid_share *shares = routes_shares(run, run->mode);
    for (int k = 0; k < run->reader_count; k++) {
        routes_reader *r = run->readers + k;
        int order = NEVER;
        for (int n = 0; n < r->read_count; n++) {
            const int j = r->reads[n];
            if (j >= run->integrated)
                order = least(order, order_of_rate(run, j));
            else if (j < run->queue_count)
                order = least(order, order_of_queue(run, j));
            else if (run->entered >= 0 && j >= run->entered
                     && fabs(run->now->f[j] - run->before.f[j]) > allowed(run) * capacity_of(run, j))
                order = 0; /* what entered: its slope is what counts */
        }
        r->order = order;
    }
    for (int i = 0; i < run->class_count; i++) {
        const routes_class *c = run->classes + i;
        if (!shares[i].active || !c->listens)
            continue;
        run->readers[c->reader].order = least(run->readers[c->reader].order, order_of_window(run, i));
        for (int v = c->from; v < c->end; v++) {
            routes_reader *r = run->readers + run->visits[v].signals;
            if (r->order > 0)
                r->order = least(r->order, order_of_signals(run, i, run->visits[v].node));
        }
    }
    for (int k = 0; k < run->reader_count; k++)
        if (run->readers[k].order != NEVER)
            routes_mark(run, run->readers + k, run->readers[k].order);
}

/* One update of a node's controller; now->net and the rates are those of the present state. */
static void update(pi2_routes *run, int l)
{
    routes_node *node = run->nodes + l;
    double *y = run->now->y, before[PI2_AQM_STATES], after[PI2_AQM_STATES];
    pi2_seen seen;
    routes_state(node, y, before);
    routes_seen(run, l, y, run->mode, &seen);
    before[0] += routes_push(node);
    node->aqm->update(node->law, before, &seen, node->interval, after);
    node->aqm->saturate(node->law, after);
    for (int j = 0; j < node->states; j++)
        node->state[j] = after[j];
    for (int j = 0; j < node->moving; j++)
        y[node->controller + j] = after[node->moves[j]];
    node->tick++;
}

/* What is changed from outside. Delays may jump with it, and then everyone reads elsewhere. */
static void make_changes(pi2_routes *run)
{
    double *tau = run->scratch.tau;
    routes_look(run, run->now);
    for (int l = 0; l < run->node_count; l++) {
        routes_seen(run, l, run->now->y, run->mode, run->seen + l);
        tau[l] = run->now->tau[run->nodes[l].first];
    }
    routes_take_changes(run);
    routes_choose(run);
    routes_hold_bounds(run);
    for (int l = 0; l < run->node_count; l++)
        if (run->nodes[l].continuous)
            routes_jump(run, l, run->now->tau[run->nodes[l].first] - tau[l], run->seen + l);
    routes_mark_all(run);
    routes_seek(run, run->now);
}

static int take_ticks(pi2_routes *run)
{
    int ticks = 0;
    for (int l = 0; l < run->node_count; l++)
        if (routes_ticks_now(run, run->nodes + l)) {
            if (!ticks)
                routes_look(run, run->now);
            update(run, l);
            ticks |= run->nodes[l].aqm->drift || run->nodes[l].thins ? 3 : 1;
        }
    return ticks;
}

int routes_happen(pi2_routes *run, int signalled)
{
    const int changes = routes_changes_now(run);
    int ticks;
    if (changes)
        make_changes(run);
    ticks = take_ticks(run);
    routes_look_ahead(run);
    if (changes || ticks > 1 || signalled)
        routes_hold_bounds(run);
    return changes || ticks > 1;
}

/* A jump of what enters may end what holds a queue. */
static void release_bounds(pi2_routes *run)
{
    static const double CLEAR = 1e-9; /* of the capacity */
    for (int round = 0; round < run->queue_count; round++) {
        int changed = 0;
        routes_choose(run);
        routes_look(run, run->now);
        for (int l = 0; l < run->node_count; l++) {
            const routes_link *link = run->mode->links + l;
            const routes_node *node = run->nodes + l;
            const double *net = run->now->net + node->first, clear = CLEAR * link->capacity;
            const double growth = node->bands == 2 ? routes_growth(run, l, net) : net[0];
            const int drains = routes_is_full(link, node->bands) && growth < -clear;
            for (int k = 0; k < node->bands; k++)
                if (run->mode->links[l].bound[k] == EMPTY && net[k] > clear) {
                    routes_set_bound(run, node->first + k, FREE);
                    changed = 1;
                }
            if (drains) {
                routes_set_bounds(run, l, FULL, FREE);
                changed = 1;
            }
        }
        if (!changed)
            return;
    }
    routes_choose(run);
}

/* What one queue of two leaves to the other may have jumped, and with it delays. */
static void seek_again(pi2_routes *run)
{
    int jumped = 0;
    routes_look(run, run->now);
    for (int k = 0; k < run->queue_count; k++)
        jumped |= run->nodes[run->queues[k].node].bands == 2 && has_jumped(run, k);
    if (jumped)
        routes_seek_back(run);
}

void routes_arrive(pi2_routes *run, const routes_event *event, int images)
{
    int stale = event || images;
    int done = 0;
    if (run->lean.is_on) {
        done = event ? 0 : routes_lean_arrive(run, images);
        run->smooth = 0;
        if (done > 0)
            return;
        if (done < 0)
            images = 0;
        stale = 1;
        run->lean.is_on = 0;
        routes_look(run, run->now);
    }
    run->by_numbers = done < 0 || images || (event && event->kind != SIDE) || run->now->t + SAME >= run->next;
    routes_foresee(run);
    keep_before(run);
    if (images) {
        const int jumps = routes_find_passed(run);
        routes_move_on(run);
        if (run->node_count == 1 && run->tolerance == 0.0)
            routes_mark_images(run, jumps);
    }
    if (event) {
        routes_apply_event(run, event);
        if (run->node_count == 1 && run->tolerance == 0.0)
            routes_mark_all(run);
    }
    if (stale)
        release_bounds(run);
    if (event && event->kind == QUEUE_EMPTIES)
        routes_hold_clips(run, run->queues[event->index].node);
    if (event && event->kind == BUFFER_FILLS)
        routes_hold_clips(run, event->index);
    stale |= routes_happen(run, event && event->kind == SIGNALLED);
    if ((run->by_numbers && routes_take_sides(run)) || (event && event->kind == SIDE)) {
        stale = 1;
        if (run->alone) /* whose fast case holds answers for a whole stretch */
            routes_mark_all(run);
    }
    if (stale) {
        routes_choose(run);
        if (run->dual)
            seek_again(run);
        routes_stretches(run);
        if (run->by_numbers)
            routes_take_rate_sides(run);
        run->by_numbers = 0;
        routes_lean_choose(run);
        routes_all_slopes(run, run->now);
    }
    run->by_numbers = 0;
    mark_jumps(run);
    if (stale) {
        routes_seek_now(run);
        if (run->lean.is_on)
            routes_lean_look_back(run);
        run->smooth = 0;
        routes_foresee(run);
    }
}
