#include "fluid/routes/plant.h"

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
        double if_waiting[2];
        node->aqm->serve(node->law, then, shares.arrivals, link->capacity, if_waiting);
        shares.net[k] = shares.arrivals[k] - (link->bound[k] != EMPTY ? shares.served[k] : if_waiting[k]);
    }
    return shares;
}

/* What dual queues get and wait. */
static void share_all(const pi2_routes *run, routes_point *at)
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

void routes_delays(const pi2_routes *run, routes_point *at)
{
    for (int k = 0; k < run->queue_count; k++) {
        const routes_link *link = run->mode->links + run->queues[k].node;
        at->tau[k] = at->y[run->queues[k].queue] * link->per_packet;
        at->served[k] = link->capacity;
    }
    if (run->dual)
        share_all(run, at);
    for (int i = 0; i < run->class_count; i++) {
        const routes_class *c = run->classes + i;
        double rtt = c->base_rtt;
        for (int k = 0; k < c->end - c->from; k++)
            rtt += at->tau[c->queues[k]];
        at->rtt[i] = rtt;
        at->per_rtt[i] = 1.0 / rtt;
    }
}

void routes_send(const pi2_routes *run, routes_point *at, const double *heard, int all)
{
    const fluid_share *shares = routes_shares(run, run->mode);
    for (int i = 0; i < run->class_count; i++) {
        const routes_class *c = run->classes + i;
        const double *x = at->y + c->x;
        double rate = 0.0;
        if (!all && !c->hands_on)
            continue;
        if (shares[i].active) {
            rate = routes_count(run, at->t, run->mode, i) * (c->windowed ? x[0] * at->per_rtt[i] : routes_rate(c, x, heard[i], at->rtt[i]));
        }
        at->y[c->sent] = rate;
    }
}

static void see(const pi2_routes *run, int l, const double *y, const routes_mode *mode, double arrivals, pi2_seen *seen)
{
    const double q = y[run->queues[run->nodes[l].first].queue], capacity = mode->links[l].capacity;
    seen->queue_delay[0] = q / capacity;
    seen->queue_delay[1] = 0.0;
    seen->queue = q;
    seen->arrival_rate = arrivals;
    seen->capacity = capacity;
    seen->overflow = 0.0;
    if (mode->links[l].bound[0] == FULL && seen->arrival_rate > capacity)
        seen->overflow = seen->arrival_rate - capacity;
}

static void see_two(const pi2_routes *run, int l, const double *y, const routes_mode *mode, pi2_seen *seen)
{
    const routes_node *node = run->nodes + l;
    const routes_link *link = mode->links + l;
    const routes_shares_of_link shares = routes_share(run, l, y, mode);
    seen->queue = seen->arrival_rate = seen->overflow = 0.0;
    seen->capacity = link->capacity;
    for (int k = 0; k < 2; k++) {
        seen->queue_delay[k] = shares.tau[k];
        seen->queue += y[run->queues[node->first + k].queue];
        seen->arrival_rate += shares.arrivals[k];
        if (link->bound[k] != EMPTY)
            seen->overflow += shares.net[k];
    }
    if (!routes_is_full(link, 2) || seen->overflow < 0.0)
        seen->overflow = 0.0;
}

void routes_seen(const pi2_routes *run, int l, const double *y, const routes_mode *mode, pi2_seen *seen)
{
    if (run->nodes[l].bands == 2)
        see_two(run, l, y, mode, seen);
    else
        see(run, l, y, mode, routes_arrivals(run, run->nodes[l].first, y), seen);
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

pi2_signal routes_signals(const pi2_routes *run, int l, const double *y, const routes_mode *mode)
{
    const routes_node *node = run->nodes + l;
    double state[PI2_AQM_STATES];
    pi2_seen seen;
    routes_state(node, y, state);
    if (node->aqm->queue_signals)
        routes_seen(run, l, y, mode, &seen);
    return node->aqm->signals(node->law, state, &seen, routes_sides(run, mode, l));
}

double routes_kept(const routes_node *node, const double *y)
{
    double state[PI2_AQM_STATES];
    routes_state(node, y, state);
    return 1.0 - node->aqm->encode(node->law, node->aqm->controller(node->law, state)).classic;
}

void routes_controller_slope(const pi2_routes *run, int l, const double *y, const double *net, double *slope)
{
    const routes_node *node = run->nodes + l;
    const routes_link *link = run->mode->links + l;
    const signed char *sides = routes_sides(run, run->mode, l);
    double state[PI2_AQM_STATES], all[PI2_AQM_STATES];
    pi2_seen seen;
    if (node->by_pi) {
        const double growth = routes_queue_slope(link, net[0]) * link->per_packet;
        slope[0] = fluid_pi_slope(&node->aqm->plain, y[run->queues[node->first].queue] * link->per_packet, growth);
        return;
    }
    if (!node->continuous && !node->aqm->drift) {
        for (int j = 0; j < node->moving; j++)
            slope[j] = 0.0;
        return;
    }
    routes_state(node, y, state);
    if (node->bands == 2)
        see_two(run, l, y, run->mode, &seen);
    else
        see(run, l, y, run->mode, net[0] + link->capacity, &seen);
    if (node->continuous)
        node->aqm->flow(node->law, state, &seen, routes_queue_slope(link, net[0]) / link->capacity, sides, all);
    else
        node->aqm->drift(node->law, state, &seen, sides, all);
    for (int j = 0; j < node->moving; j++)
        slope[j] = all[node->moves[j]];
}
