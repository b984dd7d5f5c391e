#include "fluid/routes/modes.h"

#include "fluid/controller.h"
#include "fluid/routes/dual.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/rates.h"
#include "fluid/routes/slopes.h"

routes_mode *routes_change_mode(pi2_routes *run)
{
    routes_mode *mode = past_change_mode(&run->past);
    if (!mode) {
        run->status = PI2_FLUID_NO_MEMORY;
        mode = run->mode;
    }
    for (int r = 0; r < run->reader_count; r++) /* modes may have moved: nobody knows what held where it reads */
        run->readers[r].reader.from = run->readers[r].reader.to = 0.0;
    run->past.mode[past_slot(&run->past, run->past.length)] = (uint32_t)(run->past.mode_count - 1);
    return run->mode = mode;
}

void routes_set_bound(pi2_routes *run, int k, int bound)
{
    const routes_queue *queue = run->queues + k;
    const int before = routes_bound(run, run->mode, k), entry = queue->entry;
    if (before == bound)
        return;
    routes_change_mode(run)->links[queue->node].bound[queue->band] = (signed char)bound;
    if (before == EMPTY && entry >= 0 && run->readers[entry].reader.count) {
        routes_reader *reader = run->readers + entry; /* what leaves came just now */
        reader->reader.place = reader->reader.count - 1;
        reader->d = run->now->t;
    }
}

void routes_set_bounds(pi2_routes *run, int l, int from, int to)
{
    const routes_node *node = run->nodes + l;
    for (int k = 0; k < node->bands; k++)
        if (run->mode->links[l].bound[k] == from)
            routes_set_bound(run, node->first + k, to);
}

void routes_hold_clips(pi2_routes *run, int l)
{
    routes_node *node = run->nodes + l;
    double slope[PI2_AQM_STATES], state[PI2_AQM_STATES];
    if (!node->continuous)
        return;
    routes_controller_slope(run, l, run->now->y, run->now->net + node->first, slope);
    routes_state(node, run->now->y, state);
    controller_hold(node->aqm, node->law, node->moving, node->moves, slope, state, node->held);
}

/* Which bounds hold the queues of a node. */
static void find_bounds(const pi2_routes *run, int l, int *bound)
{
    const routes_node *node = run->nodes + l;
    const double *net = run->now->net + node->first;
    double q[2], all = 0.0, growth;
    for (int k = 0; k < node->bands; k++)
        all += q[k] = run->now->y[run->queues[node->first + k].queue];
    growth = node->bands == 2 ? routes_growth(run, l, net) : net[0];
    for (int k = 0; k < node->bands; k++)
        bound[k] = q[k] <= 0.0 && net[k] <= 0.0             ? EMPTY
                   : all >= node->buffer && growth >= 0.0 ? FULL
                                                            : FREE;
}

void routes_hold_bounds(pi2_routes *run)
{
    for (int round = 0; round <= run->queue_count; round++) { /* what one lets through decides about the next */
        int changed = 0;
        routes_look(run, run->now);
        for (int l = 0; l < run->node_count; l++) {
            int bound[2];
            find_bounds(run, l, bound);
            for (int k = 0; k < run->nodes[l].bands; k++) {
                changed |= bound[k] != run->mode->links[l].bound[k];
                routes_set_bound(run, run->nodes[l].first + k, bound[k]);
            }
        }
        if (!changed)
            break;
        routes_choose(run);
    }
    for (int l = 0; l < run->node_count; l++) {
        if (routes_is_full(run->mode->links + l, run->nodes[l].bands))
            routes_end_slow_starts(run, l);
        routes_hold_clips(run, l);
    }
}

void routes_jump(pi2_routes *run, int l, double by, const pi2_seen *before)
{
    const routes_node *node = run->nodes + l;
    double state[PI2_AQM_STATES];
    routes_state(node, run->now->y, state);
    controller_jump(node->aqm, node->law, node->moving, node->moves, before, by, state,
                    run->now->y + node->controller);
}

void routes_end_slow_start(pi2_routes *run, int i)
{
    const routes_class *c = run->classes + i;
    const fluid_share *share = routes_shares(run, run->mode) + i;
    if (share->slow && share->active) {
        c->law->leave_slow_start(c->parameters, run->now->y + c->x);
        routes_shares(run, routes_change_mode(run))[i].slow = 0;
    }
}

void routes_end_slow_starts(pi2_routes *run, int l)
{
    for (int i = 0; i < run->class_count; i++)
        for (int v = run->classes[i].from; v < run->classes[i].end; v++)
            if (run->visits[v].node == l)
                routes_end_slow_start(run, i);
}
