#include "fluid/routes/schedule.h"

#include "fluid/agenda.h"
#include "fluid/routes/modes.h"

void routes_look_ahead(pi2_routes *run)
{
    double next = agenda_next(&run->agenda, run->end > run->now->t + SAME ? run->end : INFINITY);
    for (int l = 0; l < run->node_count; l++) {
        const double tick = run->nodes[l].tick * run->nodes[l].interval;
        next = tick < next ? tick : next;
    }
    run->next = next;
}

int routes_changes_now(const pi2_routes *run)
{
    return agenda_due(&run->agenda, run->now->t);
}

int routes_ticks_now(const pi2_routes *run, const routes_node *node)
{
    return node->tick * node->interval <= run->now->t + SAME;
}

static void change_capacity(pi2_routes *run, int l, double capacity)
{
    const routes_node *node = run->nodes + l;
    routes_set_capacity(routes_change_mode(run)->links + l, capacity);
    for (const routes_queue *q = run->queues + node->first; q < run->queues + node->first + node->bands; q++) {
        run->weights[q->queue] = QUEUE_WEIGHT * capacity;
        for (int k = 0; k < q->visit_count; k++)
            run->weights[q->offered[k]] = capacity;
    }
}

void routes_take_changes(pi2_routes *run)
{
    while (routes_changes_now(run)) {
        const fluid_happening *item = run->agenda.items + run->agenda.next++;
        if (item->kind == CAPACITY)
            change_capacity(run, item->index, item->value);
        else
            agenda_change_share(routes_shares(run, routes_change_mode(run)) + item->index, item);
    }
    routes_look_ahead(run);
}

double routes_push(const routes_node *node)
{
    const size_t place = (size_t)node->tick - 1;
    return place < node->push_count ? node->pushes[place] : 0.0;
}

void routes_schedule(pi2_routes *run, const pi2_routes_problem *problem)
{
    const int classes = problem->class_count;
    for (int i = 0; i < problem->change_count; i++) {
        const pi2_routes_change *c = problem->changes + i;
        agenda_add_change(&run->agenda, c->at, c->node, c->capacity, problem->counts + i * classes, classes);
    }
    for (int j = 0; j < classes; j++)
        agenda_add_class(&run->agenda, j, &problem->classes[j].flows);
}
