#include "fluid/routes/layout.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/pool.h"

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

static void take_point(pool *p, const pi2_routes *run, routes_point *point)
{
    point->y = take(p, (size_t)run->room, sizeof(double));
    point->f = take(p, (size_t)run->room, sizeof(double));
    point->tau = take(p, (size_t)run->queue_count, sizeof(double));
    point->net = take(p, (size_t)run->queue_count, sizeof(double));
    point->served = take(p, (size_t)run->queue_count, sizeof(double));
    point->d_tau = take(p, (size_t)run->queue_count, sizeof(double));
    point->d_served = take(p, (size_t)run->queue_count, sizeof(double));
    point->rtt = take(p, (size_t)run->class_count, sizeof(double));
    point->per_rtt = take(p, (size_t)run->class_count, sizeof(double));
}

/* What is known to be needed before anything is laid out. */
static void take_parts(pool *p, pi2_routes *run)
{
    const size_t nodes = (size_t)run->node_count, classes = (size_t)run->class_count;
    const size_t queues = (size_t)run->queue_count, visits = (size_t)run->visit_count;
    const size_t readers = 2 * visits + queues + classes;
    int *places = take(p, 3 * visits, sizeof(int));
    run->nodes = take(p, nodes, sizeof *run->nodes);
    run->queues = take(p, queues, sizeof *run->queues);
    run->classes = take(p, classes, sizeof *run->classes);
    run->visits = take(p, visits, sizeof *run->visits);
    run->readers = take(p, readers, sizeof *run->readers);
    run->floored = take(p, classes, 1);
    if (!places)
        return;
    run->classes[0].queues = places;
    run->queues[0].visits = places + visits;
    run->queues[0].offered = places + 2 * visits;
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

static void take_lean(pool *p, routes_lean *lean, size_t classes)
{
    double **const numbers[] = {&lean->count, &lean->decrease, &lean->per_mark, &lean->gain};
    int **const integers[] = {&lean->at, &lean->of, &lean->class_, &lean->scalable};
    lean_buffers *b = &lean->buffers;
    double **const buffers[] = {&b->from, &b->k1,    &b->k2,      &b->k3,  &b->k4,
                                &b->w,    &b->share, &b->signals, &b->rtt, &b->inverse};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = take(p, classes, sizeof(double));
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        *integers[i] = take(p, classes, sizeof(int));
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        *buffers[i] = take(p, classes + 2, sizeof(double));
    lean->group = take(p, classes, sizeof *lean->group);
}

/* What depends on how many components and comparisons there are. */
static void take_numbers(pool *p, pi2_routes *run, int changes)
{
    const size_t nodes = (size_t)run->node_count, classes = (size_t)run->class_count, size = (size_t)run->room;
    size_t of_nodes = 0, of_classes = 0;
    double **const of_size[] = {&run->weights, &run->k2, &run->k3, &run->k4, &run->middle, &run->then};
    for (int l = 0; l < run->node_count; l++)
        of_nodes += (size_t)run->nodes[l].aqm->comparisons;
    for (int i = 0; i < run->class_count; i++)
        of_classes += (size_t)run->classes[i].law->comparisons;
    for (size_t i = 0; i < sizeof of_size / sizeof *of_size; i++)
        *of_size[i] = take(p, size, sizeof(double));
    run->foreseen = take(p, 4 * size, sizeof(double));
    run->delayed = take(p, size, 1);
    run->fills = take(p, size, sizeof(int));
    run->heard = take(p, classes, sizeof(double));
    run->agenda.items = take(p, (size_t)changes * (1 + classes) + 3 * classes, sizeof *run->agenda.items);
    run->sides = take(p, of_classes, 1);
    run->sides_before = take(p, of_nodes, 1);
    run->distances = take(p, 2 * (of_nodes + of_classes), sizeof(double));
    run->most_compared = (int)(of_nodes + of_classes);
    run->seen = take(p, nodes, sizeof *run->seen);
    run->events = take(p, (6 + PI2_AQM_STATES) * nodes + of_nodes + of_classes + 3 * classes, sizeof *run->events);
    for (int r = 0; r < run->reader_count; r++)
        run->readers[r].reads = take(p, size, sizeof(int));
    if (run->alone)
        take_lean(p, &run->lean, classes);
    run->now = run->ends;
    run->trial = run->ends + 1;
    take_point(p, run, run->now);
    take_point(p, run, run->trial);
    take_point(p, run, &run->scratch);
    take_point(p, run, &run->before);
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

/* The reader of that kind with that delay, a new one if need be. */
static int find_reader(pi2_routes *run, int kind, int queue, double delay, const int *queues, int count)
{
    routes_reader *r = run->readers;
    for (; r < run->readers + run->reader_count; r++)
        if (r->kind == kind && r->queue == queue && r->delay == delay && r->queue_count == count
            && (!count || !memcmp(r->queues, queues, (size_t)count * sizeof *queues)))
            return (int)(r - run->readers);
    r->kind = kind;
    r->queue = queue;
    r->delay = delay;
    r->queues = queues;
    r->queue_count = count;
    return run->reader_count++;
}

static double hop_to(const pi2_routes *run, const pi2_routes_problem *problem, const routes_visit *v)
{
    return problem->classes[v->class_].hops[v - run->visits - run->classes[v->class_].from];
}

static void make_readers(pi2_routes *run, const pi2_routes_problem *problem)
{
    for (routes_visit *v = run->visits; v < run->visits + run->visit_count; v++) {
        const double hop = hop_to(run, problem, v);
        v->hop = hop > 0.0 ? find_reader(run, HOP, -1, hop, NULL, 0) : -1;
        if (v->hop < 0 && v == run->visits + run->classes[v->class_].from)
            run->classes[v->class_].hands_on = 1;
        else if (v->hop < 0)
            run->queues[v[-1].queue].hands_on = 1;
    }
    run->hop_count = run->reader_count;
    for (routes_visit *v = run->visits; v < run->visits + run->visit_count; v++)
        if (v->left >= 0 && run->queues[v->queue].entry < 0)
            run->queues[v->queue].entry = find_reader(run, ENTRY, v->queue, 0.0, NULL, 0);
    run->entry_end = run->reader_count;
    for (int i = 0; i < run->class_count; i++) {
        routes_class *c = run->classes + i;
        double delay = c->base_rtt;
        c->reader = find_reader(run, BACK, -1, delay, c->queues, c->end - c->from);
        for (int v = c->from; v < c->end; v++) {
            const double hop = hop_to(run, problem, run->visits + v);
            delay = delay > hop ? delay - hop : 0.0;
            run->visits[v].signals = find_reader(run, BACK, -1, delay, c->queues + (v - c->from), c->end - v);
        }
    }
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

static void read(pi2_routes *run, int reader, int component)
{
    routes_reader *r = run->readers + reader;
    for (int i = 0; i < r->read_count; i++)
        if (r->reads[i] == component)
            return;
    r->reads[r->read_count++] = component;
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

/* What enters all queues of a node. */
static void read_arrivals(pi2_routes *run, int reader, const routes_node *node)
{
    for (const routes_queue *q = run->queues + node->first; q < run->queues + node->first + node->bands; q++)
        for (int k = 0; k < q->visit_count; k++)
            read(run, reader, q->offered[k]);
}

/* What each reader reads. */
static void list_reads(pi2_routes *run)
{
    for (int v = 0; v < run->visit_count; v++) {
        const routes_visit *visit = run->visits + v;
        const routes_node *node = run->nodes + visit->node;
        const routes_queue *queue = run->queues + visit->queue;
        if (visit->hop >= 0)
            read(run, visit->hop, visit->from);
        if (queue->entry >= 0) {
            read(run, queue->entry, visit->offered);
            read(run, queue->entry, queue->entered);
        }
        for (int j = 0; j < node->moving; j++)
            read(run, visit->signals, node->controller + j);
        read(run, run->classes[visit->class_].reader, queue->queue);
        if (node->bands == 2) /* what a queue gets may depend on what enters the other one */
            read_arrivals(run, run->classes[visit->class_].reader, node);
        if (node->aqm->queue_signals) {
            for (int k = 0; k < node->bands; k++)
                read(run, visit->signals, run->queues[node->first + k].queue);
            if (!run->alone)
                read_arrivals(run, visit->signals, node);
        }
    }
    for (int i = 0; i < run->class_count; i++)
        for (int j = 0; j < run->classes[i].states; j++)
            if (j == 0 || run->classes[i].law->recalls & (1u << j))
                read(run, run->classes[i].reader, run->classes[i].x + j);
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
    take_parts(&parts, run);
    parts.memory = run->parts = calloc(1, parts.used);
    parts.used = 0;
    if (!run->parts)
        return 0;
    take_parts(&parts, run);
    copy_nodes(run, problem);
    copy_classes(run, problem);
    place_sides(run);
    mode += (size_t)run->node_sides;
    place_components(run, problem);
    list_visits(run);
    make_readers(run, problem);
    find_encoders(run);
    take_numbers(&p, run, problem->change_count);
    p.memory = run->memory = calloc(1, p.used);
    p.used = 0;
    if (!run->memory)
        return 0;
    take_numbers(&p, run, problem->change_count);
    list_reads(run);
    find_delayed(run);
    return past_create(&run->past, run->stored, mode);
}
