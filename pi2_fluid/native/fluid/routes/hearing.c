#include "fluid/routes/hearing.h"

double routes_signal_then(const pi2_routes *run, const routes_class *c, const routes_visit *visit, double later)
{
    const routes_node *node = run->nodes + visit->node;
    const routes_reader *r = run->readers + visit->signals;
    double state[PI2_AQM_STATES];
    if (node->aqm->queue_signals) {
        past_values(r->reader.cubics, run->stored, r->s, run->then);
        if (later != 0.0)
            for (int j = 0; j < run->stored; j++)
                run->then[j] += later * routes_slope_then(run, r, j);
        return routes_signal_of(c, routes_signals(run, visit->node, run->then, r->mode));
    }
    for (int j = 0; j < node->states; j++)
        state[j] = node->state[j];
    for (int j = 0; j < node->moving; j++)
        state[node->moves[j]] = routes_then(run, r, node->controller + j)
                                + later * routes_slope_then(run, r, node->controller + j);
    return routes_signal_of(c, routes_shown(node, state, NULL, routes_sides(run, r->mode, visit->node)));
}

void routes_hear_of_two(const pi2_routes *run, int i, routes_heard_then *then)
{
    const routes_class *c = run->classes + i;
    const routes_reader *r = run->readers + c->reader;
    const routes_node *node = run->nodes;
    double state[PI2_AQM_STATES];
    pi2_seen seen;
    past_values(r->reader.cubics, run->stored, r->s, run->then);
    routes_see_two(run, 0, run->then, r->mode, &seen);
    for (int j = 0; j < c->states; j++)
        then->x[j] = run->then[c->x + j];
    then->rtt = c->base_rtt + seen.queue_delay[run->queues[c->queues[0]].band];
    then->p = 0.0;
    if (!routes_shares(run, r->mode)[i].active || r->mode->signalling == 0.0)
        return;
    routes_state(node, run->then, state);
    then->p = routes_combine(run, 0.0, routes_signal_of(c, routes_shown(node, state, &seen, routes_sides(run, r->mode, 0))));
}
