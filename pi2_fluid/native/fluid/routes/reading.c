#include "fluid/routes/reading.h"

#include <string.h>

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

void routes_make_readers(pi2_routes *run, const pi2_routes_problem *problem)
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

static void read(pi2_routes *run, int reader, int component)
{
    routes_reader *r = run->readers + reader;
    for (int i = 0; i < r->read_count; i++)
        if (r->reads[i] == component)
            return;
    r->reads[r->read_count++] = component;
}

/* What enters all queues of a node. */
static void read_arrivals(pi2_routes *run, int reader, const routes_node *node)
{
    for (const routes_queue *q = run->queues + node->first; q < run->queues + node->first + node->bands; q++)
        for (int k = 0; k < q->visit_count; k++)
            read(run, reader, q->offered[k]);
}

void routes_list_reads(pi2_routes *run)
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
