#include "fluid/routes/memory.h"

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

void routes_take_parts(pool *p, pi2_routes *run)
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

void routes_take_numbers(pool *p, pi2_routes *run, int changes)
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
