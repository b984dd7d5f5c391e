#include "fluid/routes/layout.h"

#include <stdlib.h>

#include "fluid/pool.h"
#include "fluid/routes/memory.h"
#include "fluid/routes/reading.h"

/* Whether it is one node to which all packets come at once: see run.h. */
static int is_at_once(const pi2_routes_problem *problem)
{
    if (problem->node_count > 1 || problem->nodes[0].aqm->rate_signals)
        return 0;
    for (int i = 0; i < problem->class_count; i++)
        if (problem->classes[i].hops[0] > 0.0 || problem->classes[i].flows.law->sending_rate_under)
            return 0;
    return 1;
}

static int count_visits(const pi2_routes_problem *problem)
{
    int n = 0;
    for (int i = 0; i < problem->class_count; i++)
        n += problem->classes[i].length;
    return n;
}

/* Where the answers of comparisons lie. */
static void place_sides(pi2_routes *run)
{
    int of_nodes = 0, of_classes = 0;
    for (int l = 0; l < run->node_count; l++) {
        run->nodes[l].sides = of_nodes;
        of_nodes += run->nodes[l].aqm->comparisons;
    }
    for (int i = 0; i < run->class_count; i++) {
        run->classes[i].sides = of_classes;
        of_classes += run->classes[i].law->comparisons;
    }
    run->node_sides = of_nodes;
    run->nodes_compare = of_nodes > 0;
    run->rates_compare = of_classes > 0;
}

static void copy_nodes(pi2_routes *run, const pi2_routes_problem *problem)
{
    int first = 0;
    for (int l = 0; l < run->node_count; l++) {
        const pi2_routes_node *from = problem->nodes + l;
        routes_node *node = run->nodes + l;
        node->aqm = from->aqm;
        node->law = from->parameters;
        node->buffer = from->buffer;
        node->continuous = pi2_flows(node->aqm, from->continuous, from->update_interval);
        node->interval = node->continuous ? INFINITY : from->update_interval;
        node->tick = 1;
        node->first = first;
        node->bands = from->aqm->bands;
        run->dual |= node->bands == 2;
        for (int band = 0; band < node->bands; band++) {
            run->queues[first].node = l;
            run->queues[first].band = band;
            run->queues[first++].entry = -1;
        }
        node->states = from->aqm->initial(node->law, node->state);
        for (int j = 0; j < node->states; j++)
            if (!(from->aqm->still & (1u << j)))
                node->moves[node->moving++] = j;
        node->by_pi = node->continuous && node->moving == 1 && from->aqm->plain.encoder != PI2_OTHER_ENCODER;
    }
}

static void copy_class(pi2_routes *run, const pi2_routes_problem *problem, int i)
{
    const pi2_fluid_class *from = &problem->classes[i].flows;
    routes_class *c = run->classes + i;
    c->law = from->law;
    c->parameters = from->parameters;
    c->signal = from->signal;
    c->thinned = from->thinned;
    c->plain = from->law->plain.known;
    c->listens = from->signal != PI2_FLUID_DEAF || !from->law->steady;
    c->answers = from->law->sending_rate_under && c->listens;
    c->windowed = !c->answers && from->law->sending_rate == pi2_window_sending_rate;
    run->answering |= c->answers;
    c->states = from->law->states;
    c->base_rtt = from->base_rtt;
    c->start = from->start;
    c->start_jitter = from->start_jitter;
    c->most = from->count;
    for (int j = 0; j < problem->change_count; j++) {
        const double count = problem->counts[j * problem->class_count + i];
        if (count > c->most) /* not if it is NaN */
            c->most = count;
    }
}

static void copy_classes(pi2_routes *run, const pi2_routes_problem *problem)
{
    int *queues = run->classes[0].queues;
    int visit = 0;
    for (int i = 0; i < run->class_count; i++) {
        const pi2_routes_class *from = problem->classes + i;
        routes_class *c = run->classes + i;
        copy_class(run, problem, i);
        c->queues = queues + visit;
        c->from = visit;
        for (int k = 0; k < from->length; k++) {
            routes_visit *v = run->visits + visit;
            v->class_ = i;
            v->node = from->nodes[k];
            v->queue = run->nodes[v->node].first;
            v->queue += run->nodes[v->node].bands == 2 && c->signal == PI2_FLUID_SCALABLE;
            c->queues[k] = v->queue;
            run->nodes[v->node].thins |= from->flows.thinned;
            visit++;
        }
        c->end = visit;
    }
}

/* Which classes visit a queue, and what they offer it. */
static void list_visits(pi2_routes *run)
{
    int *list = run->queues[0].visits, *offered = run->queues[0].offered;
    for (int k = 0; k < run->queue_count; k++) {
        routes_queue *queue = run->queues + k;
        queue->visits = list;
        queue->offered = offered;
        for (int v = 0; v < run->visit_count; v++)
            if (run->visits[v].queue == k) {
                queue->offered[queue->visit_count] = run->visits[v].offered;
                queue->visits[queue->visit_count++] = v;
            }
        list += queue->visit_count;
        offered += queue->visit_count;
    }
}

/* What is no part of the past, from a place on. */
static int place_expected(pi2_routes *run, const pi2_routes_problem *problem, int place)
{
    run->stored = place;
    for (int i = 0; i < run->class_count; i++)
        run->classes[i].expected = problem->classes[i].flows.slow_start ? place++ : -1;
    return run->size = place;
}

/* Whether somebody may read what senders sent: of a dual queue alone only what has entered it. */
static int looked_back_at(const pi2_routes *run)
{
    return run->alone || !run->at_once;
}

/* Where each component of the state lies. */
static void place_components(pi2_routes *run, const pi2_routes_problem *problem)
{
    int place = 0;
    for (int k = 0; k < run->queue_count; k++)
        run->queues[k].queue = place++;
    for (int l = 0; l < run->node_count; l++) {
        run->nodes[l].controller = place;
        place += run->nodes[l].moving;
    }
    for (int i = 0; i < run->class_count; i++) {
        run->classes[i].x = place;
        place += run->classes[i].states;
    }
    run->entered = run->alone && run->visit_count == 1 ? -1 : place; /* of one class all is its own */
    for (int k = 0; k < run->queue_count; k++)
        run->queues[k].entered = run->entered < 0 ? -1 : place++;
    run->integrated = place;
    if (run->alone)
        place = place_expected(run, problem, place);
    for (int i = 0; i < run->class_count; i++) {
        routes_class *c = run->classes + i;
        int from = c->sent = looked_back_at(run) ? place++ : -1;
        for (int v = c->from; v < c->end; v++) {
            run->visits[v].from = from;
            run->visits[v].offered = place++;
            from = run->visits[v].left = v + 1 < c->end ? place++ : -1;
        }
    }
    if (!run->alone)
        place = place_expected(run, problem, place);
    for (int i = 0; i < run->class_count && !looked_back_at(run); i++)
        run->classes[i].sent = run->visits[run->classes[i].from].from = place++;
    run->room = place;
}

/* How the signals follow that are heard. */
static void find_encoders(pi2_routes *run)
{
    for (routes_visit *v = run->visits; v < run->visits + run->visit_count; v++) {
        const routes_node *node = run->nodes + v->node;
        v->encoder = node->moving == 1 && node->bands == 1 ? node->aqm->plain.encoder : PI2_OTHER_ENCODER;
        v->coupling = node->aqm->plain.k;
        v->controller = node->controller;
        v->scalable = run->classes[v->class_].signal == PI2_FLUID_SCALABLE;
    }
}

/* Which rates come from the past, or are read there, and which queue what comes fills. */
static void find_delayed(pi2_routes *run)
{
    for (int k = 0; k < run->queue_count && run->entered >= 0; k++)
        run->fills[run->queues[k].entered] = run->queues[k].queue;
    for (int v = 0; v < run->visit_count; v++) {
        const routes_visit *visit = run->visits + v;
        const int first = visit->from == run->classes[visit->class_].sent, dual = run->nodes[visit->node].bands == 2;
        const routes_queue *queue = run->queues + visit->queue;
        run->delayed[visit->from] = visit->hop >= 0;
        run->delayed[visit->offered] = visit->hop >= 0 || !first || queue->entry >= 0 || dual;
        run->fills[visit->from] = run->fills[visit->offered] = queue->queue;
    }
}

int routes_lay_out(pi2_routes *run, const pi2_routes_problem *problem)
{
    pool parts = {NULL, 0}, p = {NULL, 0};
    size_t mode = sizeof(routes_mode) + (size_t)problem->node_count * sizeof(routes_link)
                  + (size_t)problem->class_count * sizeof(fluid_share);
    run->node_count = problem->node_count;
    run->at_once = is_at_once(problem);
    run->alone = run->at_once && problem->nodes[0].aqm->bands == 1;
    for (int l = 0; l < run->node_count; l++)
        run->queue_count += problem->nodes[l].aqm->bands;
    run->class_count = problem->class_count;
    run->visit_count = count_visits(problem);
    routes_take_parts(&parts, run);
    parts.memory = run->parts = calloc(1, parts.used);
    parts.used = 0;
    if (!run->parts)
        return 0;
    routes_take_parts(&parts, run);
    copy_nodes(run, problem);
    copy_classes(run, problem);
    place_sides(run);
    mode += (size_t)run->node_sides;
    place_components(run, problem);
    list_visits(run);
    routes_make_readers(run, problem);
    find_encoders(run);
    routes_take_numbers(&p, run, problem->change_count);
    p.memory = run->memory = calloc(1, p.used);
    p.used = 0;
    if (!run->memory)
        return 0;
    routes_take_numbers(&p, run, problem->change_count);
    routes_list_reads(run);
    find_delayed(run);
    return past_create(&run->past, run->stored, mode);
}
