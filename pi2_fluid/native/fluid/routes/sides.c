#include "fluid/routes/sides.h"

#include "fluid/answers.h"
#include "fluid/routes/modes.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/slopes.h"

static void node_differences(pi2_routes *run, int l, const routes_point *at)
{
    const routes_node *node = run->nodes + l;
    const routes_link *link = run->mode->links + l;
    double state[PI2_AQM_STATES], growth = 0.0; /* two queues do not move by their flow */
    pi2_seen seen;
    if (node->bands == 1)
        growth = routes_queue_slope(link, routes_arrivals(run, node->first, at->y) - link->capacity) * link->per_packet;
    routes_state(node, at->y, state);
    routes_seen(run, l, at->y, run->mode, &seen);
    node->aqm->differences(node->law, state, &seen, growth, routes_sides(run, run->mode, l), run->distances);
}

static int is_asked(const pi2_routes *run, int i)
{
    const routes_class *c = run->classes + i;
    return c->law->comparisons && c->listens && routes_shares(run, run->mode)[i].active;
}

int routes_distances(pi2_routes *run, int k, routes_point *at)
{
    const int i = k - run->node_count, count = i < 0 ? run->nodes[k].aqm->comparisons : run->classes[i].law->comparisons;
    const signed char *comparing = i < 0 ? run->nodes[k].aqm->comparing : run->classes[i].law->comparing;
    const signed char *sides = i < 0 ? routes_sides(run, run->mode, k) : routes_rate_sides(run, run->classes + i);
    if (!count || !sides || (i >= 0 && !is_asked(run, i)))
        return 0;
    if (i < 0)
        node_differences(run, k, at);
    else
        routes_rate_differences(run, i, at, run->distances);
    for (int j = 0; j < count; j++)
        run->distances[j] = comparing[j] < 0 ? 1.0 : answer_distance(comparing[j], run->distances[j], sides[j]);
    return count;
}

int routes_take_sides(pi2_routes *run)
{
    const int before = run->by_numbers;
    int changed = 0;
    if (!run->nodes_compare)
        return 0;
    run->by_numbers = 1;
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        signed char *held = routes_mode_sides(run, run->mode) + node->sides;
        if (!node->aqm->comparisons)
            continue;
        node_differences(run, l, run->now);
        for (int j = 0; j < node->aqm->comparisons; j++) {
            const signed char answer = answer_of(node->aqm->comparing[j], run->distances[j]);
            if (run->mode->sided && answer == held[j])
                continue;
            held = routes_mode_sides(run, routes_change_mode(run)) + node->sides;
            held[j] = answer;
            changed = 1;
        }
    }
    if (!run->mode->sided) /* all have been written now */
        routes_change_mode(run)->sided = 1;
    run->by_numbers = before;
    return changed;
}

void routes_take_rate_sides(pi2_routes *run)
{
    const int before = run->by_numbers;
    if (!run->rates_compare)
        return;
    run->by_numbers = 1;
    routes_delays(run, run->now);
    for (int i = 0; i < run->class_count; i++) {
        const routes_class *c = run->classes + i;
        if (!is_asked(run, i))
            continue;
        routes_rate_differences(run, i, run->now, run->distances);
        for (int j = 0; j < c->law->comparisons; j++)
            run->sides[c->sides + j] = answer_of(c->law->comparing[j], run->distances[j]);
    }
    run->by_numbers = before;
}

void routes_turn_side(pi2_routes *run, int k, int number)
{
    if (k >= run->node_count)
        run->sides[run->classes[k - run->node_count].sides + number] ^= 1;
    else
        routes_mode_sides(run, routes_change_mode(run))[run->nodes[k].sides + number] ^= 1;
}
