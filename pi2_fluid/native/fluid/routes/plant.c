#include "fluid/routes/plant.h"

#include "fluid/routes/dual.h"

void routes_delays(const pi2_routes *run, routes_point *at)
{
    for (int k = 0; k < run->queue_count; k++) {
        const routes_link *link = run->mode->links + routes_node_of(run, k);
        at->tau[k] = at->y[k] * link->per_packet; /* queues come first */
        at->served[k] = link->capacity;
    }
    if (run->dual)
        routes_share_all(run, at);
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

void routes_seen(const pi2_routes *run, int l, const double *y, const routes_mode *mode, pi2_seen *seen)
{
    if (run->nodes[l].bands == 2)
        routes_see_two(run, l, y, mode, seen);
    else
        see(run, l, y, mode, routes_arrivals(run, run->nodes[l].first, y), seen);
}

pi2_signal routes_signals(const pi2_routes *run, int l, const double *y, const routes_mode *mode)
{
    const routes_node *node = run->nodes + l;
    double state[PI2_AQM_STATES];
    pi2_seen seen;
    routes_state(node, y, state);
    if (node->aqm->queue_signals)
        routes_seen(run, l, y, mode, &seen);
    return routes_shown(node, state, &seen, routes_sides(run, mode, l));
}

double routes_kept(const routes_node *node, const double *y)
{
    double state[PI2_AQM_STATES];
    routes_state(node, y, state);
    return 1.0 - node->aqm->encode(node->law, node->aqm->controller(node->law, state)).classic;
}

static void move(const routes_node *node, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    if (node->continuous)
        node->aqm->flow(node->law, state, seen, d_queue_delay, sides, slope);
    else
        node->aqm->drift(node->law, state, seen, sides, slope);
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
        slope[0] = fluid_pi_slope(&node->aqm->plain, y[node->first] * link->per_packet, growth); /* queues come first */
        return;
    }
    if (!node->continuous && !node->aqm->drift) {
        for (int j = 0; j < node->moving; j++)
            slope[j] = 0.0;
        return;
    }
    routes_state(node, y, state);
    if (node->bands == 2)
        routes_see_two(run, l, y, run->mode, &seen);
    else
        see(run, l, y, run->mode, net[0] + link->capacity, &seen);
    move(node, state, &seen, routes_queue_slope(link, net[0]) / link->capacity, sides, all);
    if (sides && !fluid_have_values(all, node->states))
        move(node, state, &seen, routes_queue_slope(link, net[0]) / link->capacity, NULL, all);
    for (int j = 0; j < node->moving; j++)
        slope[j] = all[node->moves[j]];
}
