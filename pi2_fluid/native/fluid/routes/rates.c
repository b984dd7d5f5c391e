#include "fluid/routes/rates.h"

#include "fluid/routes/dual.h"
#include "fluid/routes/entries.h"
#include "fluid/routes/hearing.h"
#include "fluid/routes/plant.h"

/* Of what links divide among themselves at one instant: a route has fewer, but a ring without hops comes nearer by each. */
enum { MOST_ROUNDS = 60 };

/* What those hear whose rate answers at once. */
static void answer(pi2_routes *run, const routes_point *at)
{
    const fluid_share *shares = routes_shares(run, run->mode);
    for (int i = 0; i < run->class_count; i++)
        if (run->classes[i].answers && shares[i].active) {
            routes_go_back_for(run, i, at);
            run->heard[i] = routes_hear(run, i, 0.0, NULL);
        }
}

/* What leaves the queues in which packets wait: shares of what entered. */
static void leave(pi2_routes *run, routes_point *at, int all)
{
    for (int q = 0; q < run->queue_count; q++) {
        routes_queue *node = run->queues + q;
        routes_reader *r = run->readers + (node->entry >= 0 ? node->entry : 0);
        if (node->entry < 0 || !r->used || (!all && !node->hands_on))
            continue;
        routes_find_entry(run, node, at->y[node->entered] - at->y[node->queue]);
        if (!run->provisional && r->d >= run->now->t)
            continue; /* it enters now: see `pass` */
        double total = 0.0, share;
        for (int k = 0; k < node->visit_count; k++) {
            const routes_visit *v = run->visits + node->visits[k];
            const double then = routes_then(run, r, v->offered);
            total += then;
            if (v->left >= 0)
                at->y[v->left] = then;
        }
        node->total = total;
        share = total > 0.0 ? at->served[q] / total : 0.0;
        for (int k = 0; k < node->visit_count; k++) {
            const routes_visit *v = run->visits + node->visits[k];
            if (v->left >= 0)
                at->y[v->left] = total > 0.0 ? at->y[v->left] * share : 0.0;
        }
    }
}

int routes_passes(const pi2_routes *run, int k)
{
    const routes_queue *queue = run->queues + k;
    return routes_bound(run, run->mode, k) == EMPTY
           || (!run->provisional && queue->entry >= 0 && run->readers[queue->entry].d >= run->now->t);
}

double routes_coming(const pi2_routes *run, const routes_visit *v, const routes_point *at)
{
    return v->hop >= 0 ? routes_then(run, run->readers + v->hop, v->from) : at->y[v->from];
}

/* What of it enters. */
static double let_in(const pi2_routes *run, const routes_visit *v, const routes_point *at)
{
    const double rate = routes_coming(run, v, at);
    return run->classes[v->class_].thinned ? rate * routes_kept(run->nodes + v->node, at->y) : rate;
}

/* What enters the nodes, along each route; where packets do not wait it leaves as well. */
static void pass(pi2_routes *run, routes_point *at)
{
    for (int n = 0; n < run->visit_count; n++) {
        const routes_visit *v = run->visits + n;
        at->y[v->offered] = let_in(run, v, at);
        if (v->left >= 0 && routes_passes(run, v->queue))
            at->y[v->left] = at->y[v->offered];
    }
}

/* Where packets begin to wait just now, a full link divides what enters. Returns whether that is news. */
static int divide(pi2_routes *run, routes_point *at)
{
    int news = 0;
    for (int n = 0; n < run->visit_count; n++) {
        const routes_visit *v = run->visits + n;
        if (v->left < 0 || routes_bound(run, run->mode, v->queue) == EMPTY || !routes_passes(run, v->queue))
            continue;
        const double total = routes_arrivals(run, v->queue, at->y);
        const double left = total > 0.0 ? at->served[v->queue] * at->y[v->offered] / total : 0.0;
        news |= left != at->y[v->left];
        at->y[v->left] = left;
    }
    return news;
}

/* All rates, or those that what moves depends on, given what dual queues get. */
static void one_round(pi2_routes *run, routes_point *at, int all)
{
    int again = run->provisional ? 0 : MOST_ROUNDS;
    routes_delays(run, at);
    if (run->answering)
        answer(run, at);
    routes_send(run, at, run->heard, all);
    leave(run, at, all);
    pass(run, at);
    while (again-- > 0 && divide(run, at)) {
        for (int n = 0; n < run->visit_count; n++) {
            const routes_visit *v = run->visits + n;
            at->y[v->offered] = let_in(run, v, at);
            if (v->left >= 0 && routes_bound(run, run->mode, v->queue) == EMPTY)
                at->y[v->left] = at->y[v->offered];
        }
    }
}

/* What comes at once to queues without packets, on whose rates the shares of others depend. */
static void send_to_empty(pi2_routes *run, routes_point *at)
{
    for (int n = 0; n < run->visit_count; n++) {
        const routes_visit *v = run->visits + n;
        const routes_class *c = run->classes + v->class_;
        double rate = 0.0;
        if (routes_bound(run, run->mode, v->queue) != EMPTY)
            continue;
        if (routes_shares(run, run->mode)[v->class_].active)
            rate = routes_count(run, at->t, run->mode, v->class_) * routes_rate(c, at->y + c->x, 0.0, c->base_rtt);
        at->y[v->offered] = c->thinned ? rate * routes_kept(run->nodes + v->node, at->y) : rate;
    }
}

void routes_find_rates(pi2_routes *run, routes_point *at, int all)
{
    int rounds = run->dual && !run->at_once ? MOST_ROUNDS : 1;
    for (routes_reader *r = run->readers; r < run->readers + run->hop_count; r++)
        routes_go_to(run, r, at->t - r->delay);
    if (run->dual && run->at_once)
        send_to_empty(run, at);
    do
        one_round(run, at, all);
    while (--rounds > 0 && routes_shares_moved(run, at));
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        if (node->bands == 2)
            routes_find_net(run, l, at, all);
        else
            at->net[node->first] = routes_arrivals(run, node->first, at->y) - run->mode->links[l].capacity;
    }
}

void routes_look(pi2_routes *run, routes_point *at)
{
    routes_find_rates(run, at, 1);
}
