#include "fluid/routes/dual.h"

#define NUDGE 1e-6 /* s: over which the slope of what a law serves is taken */

void routes_share_by(const pi2_routes *run, int l, const double *y, const routes_mode *mode,
                     routes_shares_of_link *shares)
{
    const routes_node *node = run->nodes + l;
    const routes_link *link = mode->links + l;
    const int waits[2] = {link->bound[0] != EMPTY, link->bound[1] != EMPTY};
    node->aqm->serve(node->law, waits, shares->arrivals, link->capacity, shares->served);
    for (int k = 0; k < 2; k++)
        shares->tau[k] = waits[k] ? y[run->queues[node->first + k].queue] / shares->served[k] : 0.0;
}

routes_shares_of_link routes_share(const pi2_routes *run, int l, const double *y, const routes_mode *mode)
{
    const routes_node *node = run->nodes + l;
    const routes_link *link = mode->links + l;
    routes_shares_of_link shares;
    for (int k = 0; k < 2; k++)
        shares.arrivals[k] = routes_arrivals(run, node->first + k, y);
    routes_share_by(run, l, y, mode, &shares);
    for (int k = 0; k < 2; k++) { /* a queue that is held empty leaves 0 when it would not be served what arrives */
        const int then[2] = {link->bound[0] != EMPTY || k == 0, link->bound[1] != EMPTY || k == 1};
        double if_waiting[2] = {shares.served[0], shares.served[1]};
        if (link->bound[k] == EMPTY)
            node->aqm->serve(node->law, then, shares.arrivals, link->capacity, if_waiting);
        shares.net[k] = shares.arrivals[k] - if_waiting[k];
    }
    return shares;
}

void routes_share_all(const pi2_routes *run, routes_point *at)
{
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        routes_shares_of_link shares;
        if (node->bands == 1)
            continue;
        for (int k = 0; k < 2; k++)
            shares.arrivals[k] = routes_arrivals(run, node->first + k, at->y);
        routes_share_by(run, l, at->y, run->mode, &shares);
        for (int k = 0; k < 2; k++) {
            at->tau[node->first + k] = shares.tau[k];
            at->served[node->first + k] = shares.served[k];
        }
    }
}

void routes_see_two(const pi2_routes *run, int l, const double *y, const routes_mode *mode, pi2_seen *seen)
{
    const routes_node *node = run->nodes + l;
    const routes_link *link = mode->links + l;
    routes_shares_of_link shares;
    for (int k = 0; k < 2; k++)
        shares.arrivals[k] = routes_arrivals(run, node->first + k, y);
    routes_share_by(run, l, y, mode, &shares);
    seen->queue = seen->arrival_rate = seen->overflow = 0.0;
    seen->capacity = link->capacity;
    for (int k = 0; k < 2; k++) {
        seen->queue_delay[k] = shares.tau[k];
        seen->queue += y[run->queues[node->first + k].queue];
        seen->arrival_rate += shares.arrivals[k];
        if (link->bound[k] != EMPTY)
            seen->overflow += shares.arrivals[k] - shares.served[k];
    }
    if (!routes_is_full(link, 2) || seen->overflow < 0.0)
        seen->overflow = 0.0;
}

double routes_growth(const pi2_routes *run, int l, const double *net)
{
    double sum = 0.0;
    for (int k = 0; k < run->nodes[l].bands; k++)
        if (run->mode->links[l].bound[k] != EMPTY)
            sum += net[k];
    return sum;
}

void routes_queue_slopes(const routes_link *link, const double *net, double *slopes)
{
    double growing = 0.0, freed = 0.0;
    for (int k = 0; k < 2; k++) {
        slopes[k] = link->bound[k] == EMPTY ? 0.0 : net[k];
        if (slopes[k] > 0.0)
            growing += slopes[k];
        else
            freed -= slopes[k];
    }
    /* Room that one frees is taken by the other; the rest is lost. */
    if (routes_is_full(link, 2) && growing > freed)
        for (int k = 0; k < 2; k++)
            if (slopes[k] > 0.0)
                slopes[k] = slopes[k] * freed / growing;
}

void routes_find_net(const pi2_routes *run, int l, routes_point *at, int all)
{
    const routes_node *node = run->nodes + l;
    const routes_link *link = run->mode->links + l;
    double arrivals[2];
    for (int k = 0; k < 2; k++)
        arrivals[k] = routes_arrivals(run, node->first + k, at->y);
    for (int k = 0; k < 2; k++) { /* a queue that is held empty leaves 0 when it would not be served what arrives */
        const int then[2] = {link->bound[0] != EMPTY || k == 0, link->bound[1] != EMPTY || k == 1};
        double served[2] = {at->served[node->first], at->served[node->first + 1]};
        if (link->bound[k] == EMPTY && all)
            node->aqm->serve(node->law, then, arrivals, link->capacity, served);
        at->net[node->first + k] = arrivals[k] - served[k];
    }
}

int routes_shares_moved(const pi2_routes *run, const routes_point *at)
{
    static const double SAME_SHARE = 1e-14; /* of the capacity */
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        const routes_link *link = run->mode->links + l;
        routes_shares_of_link shares;
        if (node->bands == 1 || (link->bound[0] != EMPTY && link->bound[1] != EMPTY))
            continue;
        for (int k = 0; k < 2; k++)
            shares.arrivals[k] = routes_arrivals(run, node->first + k, at->y);
        routes_share_by(run, l, at->y, run->mode, &shares);
        for (int k = 0; k < 2; k++)
            if (fabs(shares.served[k] - at->served[node->first + k]) > SAME_SHARE * link->capacity)
                return 1;
    }
    return 0;
}

double routes_dual_delay_then(const pi2_routes *run, const routes_reader *r, int k)
{
    const routes_queue *queue = run->queues + k;
    const routes_node *node = run->nodes + queue->node;
    const routes_link *link = r->mode->links + queue->node;
    const double q = routes_then(run, r, queue->queue);
    routes_shares_of_link shares = {{0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}};
    int waits[2];
    if (node->bands == 1)
        return q * link->per_packet;
    if (link->bound[queue->band] == EMPTY)
        return 0.0;
    for (int b = 0; b < 2; b++) {
        const routes_queue *each = run->queues + node->first + b;
        waits[b] = link->bound[b] != EMPTY;
        for (int n = 0; n < each->visit_count && !waits[b]; n++)
            shares.arrivals[b] += routes_then(run, r, each->offered[n]);
    }
    node->aqm->serve(node->law, waits, shares.arrivals, link->capacity, shares.served);
    return q / shares.served[queue->band];
}

void routes_dual_slopes(const pi2_routes *run, routes_point *at)
{
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        const routes_link *link = run->mode->links + l;
        routes_shares_of_link before, after;
        if (node->bands == 1)
            continue;
        if (link->bound[0] != EMPTY && link->bound[1] != EMPTY) { /* their shares stay */
            for (int q = node->first; q < node->first + 2; q++) {
                at->d_served[q] = 0.0;
                at->d_tau[q] = at->f[run->queues[q].queue] / at->served[q];
            }
            continue;
        }
        for (int k = 0; k < 2; k++) {
            const double rate = routes_arrivals(run, node->first + k, at->y);
            const double rise = NUDGE * routes_arrivals(run, node->first + k, at->f);
            before.arrivals[k] = rate - rise;
            after.arrivals[k] = rate + rise;
        }
        routes_share_by(run, l, at->y, run->mode, &before);
        routes_share_by(run, l, at->y, run->mode, &after);
        for (int q = node->first, k = 0; k < 2; q++, k++) {
            at->d_served[q] = (after.served[k] - before.served[k]) / (2.0 * NUDGE);
            at->d_tau[q] = link->bound[k] == EMPTY
                               ? 0.0
                               : (at->f[run->queues[q].queue] - at->tau[q] * at->d_served[q]) / at->served[q];
        }
    }
}
