#include "fluid/routes/slopes.h"

#include "fluid/routes/dual.h"
#include "fluid/routes/hearing.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/rate_slopes.h"
#include "fluid/routes/rates.h"

static const double DOUBLING = 0.69314718055994530942; /* slow start doubles the window in one round trip */

/* dx/dt of class i by its law, of which the past has been read; *heard: signals of a flow per second. */
static inline void law_slopes(const pi2_routes *run, int i, const routes_point *at, double *slopes, double *heard)
{
    const routes_class *c = run->classes + i;
    const double *x = at->y + c->x;
    routes_heard_then then;
    routes_hear_all(run, i, &then);
    *heard = then.x[0] / then.rtt * then.p;
    if (c->plain)
        slopes[0] = fluid_window_rate(&c->law->plain, x[0], *heard, at->per_rtt[i]);
    else {
        const signed char *sides = routes_rate_sides(run, c);
        c->law->rate(c->parameters, x, then.x, then.p, at->rtt[i], then.rtt, sides, slopes);
        if (sides && !fluid_have_values(slopes, c->states))
            c->law->rate(c->parameters, x, then.x, then.p, at->rtt[i], then.rtt, NULL, slopes);
    }
}

void routes_rate_differences(pi2_routes *run, int i, const routes_point *at, double *values)
{
    const routes_class *c = run->classes + i;
    routes_heard_then then;
    routes_go_back_for(run, i, at);
    routes_hear_all(run, i, &then);
    c->law->differences(c->parameters, at->y + c->x, then.x, then.p, at->rtt[i], then.rtt, routes_rate_sides(run, c),
                        values);
}

double routes_window_slope(pi2_routes *run, int i, routes_point *at)
{
    double slopes[PI2_SENDER_STATES], heard;
    routes_go_back_for(run, i, at);
    law_slopes(run, i, at, slopes, &heard);
    return slopes[0];
}

void routes_slopes_at_rest(const pi2_routes *run, int i, const routes_point *at, double p, double *slopes)
{
    const routes_class *c = run->classes + i;
    const double *x = at->y + c->x;
    c->law->rate(c->parameters, x, x, p, at->rtt[i], at->rtt[i], NULL, slopes);
}

static inline void sender_slopes(pi2_routes *run, routes_point *at, int i)
{
    const routes_class *c = run->classes + i;
    const fluid_share *share = routes_shares(run, run->mode) + i;
    double heard = 0.0;
    if (share->active && c->listens) {
        law_slopes(run, i, at, at->f + c->x, &heard);
        if (run->floored[i])
            at->f[c->x] = 0.0;
        if (share->slow)
            at->f[c->x] = DOUBLING * at->y[c->x] / at->rtt[i];
    } else
        for (int j = 0; j < c->states; j++)
            at->f[c->x + j] = 0.0;
    if (c->expected >= 0)
        at->f[c->expected] = share->slow ? heard : 0.0;
}

void routes_slopes(pi2_routes *run, routes_point *at, int what)
{
    routes_find_rates(run, at, what != WHAT_MOVES);
    for (routes_reader *r = run->readers + run->entry_end, *end = run->readers + run->reader_count; r < end; r++)
        if (r->used)
            routes_go_back(run, r, at);
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        const routes_link *link = run->mode->links + l;
        const routes_queue *queue = run->queues + node->first;
        const double *net = at->net + node->first;
        if (node->bands == 2) {
            double slopes[2];
            routes_queue_slopes(link, net, slopes);
            for (int k = 0; k < 2; k++) {
                at->f[queue[k].queue] = slopes[k];
                at->f[queue[k].entered] = slopes[k] + at->served[node->first + k];
            }
        } else {
            const double slope = routes_queue_slope(link, net[0]);
            at->f[queue->queue] = slope;
            if (run->entered >= 0)
                at->f[queue->entered] = slope + (link->bound[0] == EMPTY ? net[0] + link->capacity : link->capacity);
        }
        routes_controller_slope(run, l, at->y, net, at->f + node->controller);
        for (int j = 0; j < node->moving; j++)
            if (node->held[j] != 0.0)
                at->f[node->controller + j] = 0.0;
    }
    for (int i = 0; i < run->class_count; i++)
        sender_slopes(run, at, i);
    if (what == WITH_THEIR_SLOPES && run->alone)
        routes_delay_slopes(run, at);
    else if (what == WITH_THEIR_SLOPES)
        routes_rate_slopes(run, at);
}

void routes_choose(pi2_routes *run)
{
    const fluid_share *shares = routes_shares(run, run->mode);
    run->slow = 0;
    for (int r = 0; r < run->reader_count; r++)
        run->readers[r].used = run->readers[r].kind == HOP;
    for (int i = 0; i < run->class_count; i++) {
        const routes_class *c = run->classes + i;
        run->slow |= shares[i].slow;
        if (!shares[i].active || !c->listens)
            continue;
        run->readers[c->reader].used = 1;
        for (int v = c->from; v < c->end; v++)
            run->readers[run->visits[v].signals].used = 1;
    }
    for (int k = 0; k < run->queue_count; k++)
        if (run->queues[k].entry >= 0)
            run->readers[run->queues[k].entry].used = routes_bound(run, run->mode, k) != EMPTY;
    run->nearest = INFINITY;
    for (const routes_reader *r = run->readers; r < run->readers + run->reader_count; r++) {
        const double least = r->kind == ENTRY ? 0.0 : r->delay;
        run->nearest = r->used && least < run->nearest ? least : run->nearest;
    }
}
