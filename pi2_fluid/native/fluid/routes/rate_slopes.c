#include "fluid/routes/rate_slopes.h"

#include "fluid/routes/dual.h"
#include "fluid/routes/hearing.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/rates.h"

/* of a round-trip time: over which the slope of a law's sending rate is taken */
#define NUDGE 1e-6

/* How fast what a class sends changes. */
static double sent_slope(const pi2_routes *run, const routes_point *at, int i)
{
    const routes_class *c = run->classes + i;
    const fluid_share *share = routes_shares(run, run->mode) + i;
    const double *x = at->y + c->x, *dx = at->f + c->x, rtt = at->rtt[i];
    double d_rtt = 0.0, count, rate, slope;
    if (!share->active)
        return 0.0;
    count = routes_count(run, at->t, run->mode, i);
    for (int k = 0; k < c->end - c->from; k++)
        d_rtt += at->d_tau[c->queues[k]];
    if (c->windowed) {
        rate = x[0] * at->per_rtt[i];
        slope = (dx[0] - rate * d_rtt) * at->per_rtt[i];
    } else {
        double before[PI2_SENDER_STATES], after[PI2_SENDER_STATES];
        const double dt = rtt > 0.0 ? NUDGE * rtt : NUDGE;
        const double p0 = c->answers ? routes_hear(run, i, -dt, at) : 0.0, p1 = c->answers ? routes_hear(run, i, dt, at) : 0.0;
        for (int j = 0; j < c->states; j++) {
            before[j] = x[j] - dt * dx[j];
            after[j] = x[j] + dt * dx[j];
        }
        rate = routes_rate(c, x, run->heard[i], rtt);
        slope = routes_rate(c, after, p1, rtt + dt * d_rtt) - routes_rate(c, before, p0, rtt - dt * d_rtt);
        slope /= 2.0 * dt;
    }
    return count * slope + (share->ramping ? share->count / c->start_jitter * rate : 0.0);
}

/* What found room in a queue when that entered which leaves now (packets/s). */
static double let_in_then(const pi2_routes *run, const routes_queue *queue, const routes_reader *r)
{
    const routes_link *then = routes_mode_then(run, r)->links + queue->node;
    if (!routes_is_full(then, run->nodes[queue->node].bands))
        return queue->total;
    if (run->nodes[queue->node].bands == 2)
        return routes_slope_then(run, r, queue->entered);
    return queue->total > then->capacity ? then->capacity : queue->total;
}

/* The slope of a share C A(a)/sum A(a) of what leaves a queue, of those who entered at a: a moves by C/sum A(a), where the
 * buffer was full by C/C(a). */
static double share_slope(const pi2_routes *run, const routes_point *at, int q, const routes_visit *v)
{
    const routes_queue *node = run->queues + q;
    const routes_reader *r = run->readers + node->entry;
    const double capacity = at->served[q], let_in = let_in_then(run, node, r);
    double d_total = 0.0, slope;
    if (!(node->total > 0.0))
        return 0.0;
    for (int k = 0; k < node->visit_count; k++)
        d_total += routes_slope_then(run, r, run->visits[node->visits[k]].offered);
    slope = capacity * capacity / (let_in * node->total)
            * (routes_slope_then(run, r, v->offered) - routes_then(run, r, v->offered) * d_total / node->total);
    return run->dual ? slope + at->d_served[q] * routes_then(run, r, v->offered) / node->total : slope;
}

/* The same of those who enter now. */
static double present_share_slope(const pi2_routes *run, const routes_point *at, int q, const routes_visit *v)
{
    const double capacity = at->served[q], total = routes_arrivals(run, q, at->y);
    const double d_total = routes_arrivals(run, q, at->f);
    double slope;
    if (!(total > 0.0))
        return 0.0;
    slope = capacity * capacity / (total * total) * (at->f[v->offered] - at->y[v->offered] * d_total / total);
    return run->dual ? slope + at->d_served[q] * at->y[v->offered] / total : slope;
}

void routes_delay_slopes(const pi2_routes *run, routes_point *at)
{
    for (int q = 0; q < run->queue_count; q++) /* queues come first in the state */
        at->d_tau[q] = at->f[q] * run->mode->links[routes_node_of(run, q)].per_packet;
    if (run->dual)
        routes_dual_slopes(run, at);
}

/* The slope of what is kept of thinned traffic. */
static double kept_slope(const pi2_routes *run, const routes_node *node, const routes_point *at)
{
    double *y = run->then;
    double kept[2];
    for (int side = 0; side < 2; side++) {
        for (int j = 0; j < node->moving; j++)
            y[node->controller + j] = at->y[node->controller + j]
                                      + (side ? NUDGE : -NUDGE) * at->f[node->controller + j];
        kept[side] = routes_kept(node, y);
    }
    return (kept[1] - kept[0]) / (2.0 * NUDGE);
}

static int one_is_empty(const routes_link *link)
{
    return link->bound[0] == EMPTY || link->bound[1] == EMPTY;
}

void routes_rate_slopes(pi2_routes *run, routes_point *at)
{
    /* A dual queue's delay follows from what enters it, and what is sent from delays: where all comes at once, of one
     * queue alone from what enters the other while that is empty and delays nothing. */
    int rounds = run->dual && run->at_once ? 1 + one_is_empty(run->mode->links)
                 : run->dual                ? 2 + run->node_count
                 : run->provisional         ? 1
                                            : 1 + run->node_count;
    int first = 1;
    while (rounds-- > 0) {
        if (first || run->dual) {
            routes_delay_slopes(run, at);
            for (int i = 0; i < run->class_count; i++)
                at->f[run->classes[i].sent] = sent_slope(run, at, i);
        }
        first = 0;
        for (int n = 0; n < run->visit_count; n++) {
            const routes_visit *v = run->visits + n;
            const int l = v->node;
            double slope = v->hop >= 0 ? routes_slope_then(run, run->readers + v->hop, v->from) : at->f[v->from];
            if (run->classes[v->class_].thinned) {
                const double kept = routes_kept(run->nodes + l, at->y);
                slope = slope * kept + routes_coming(run, v, at) * kept_slope(run, run->nodes + l, at);
            }
            at->f[v->offered] = slope;
            if (v->left >= 0)
                at->f[v->left] = routes_bound(run, run->mode, v->queue) == EMPTY ? slope
                                 : routes_passes(run, v->queue)                         ? present_share_slope(run, at, v->queue, v)
                                                                                 : share_slope(run, at, v->queue, v);
        }
    }
    if (run->dual && !run->at_once)
        routes_delay_slopes(run, at);
}
