#include "fluid/routes/schedule.h"

#include "fluid/routes/modes.h"

void routes_look_ahead(pi2_routes *run)
{
    double next = run->end > run->now->t + SAME ? run->end : INFINITY;
    if (run->happening < run->happening_count && run->happenings[run->happening].at < next)
        next = run->happenings[run->happening].at;
    for (int l = 0; l < run->node_count; l++) {
        const double tick = run->nodes[l].tick * run->nodes[l].interval;
        next = tick < next ? tick : next;
    }
    run->next = next;
}

int routes_changes_now(const pi2_routes *run)
{
    return run->happening < run->happening_count && run->happenings[run->happening].at <= run->now->t + SAME;
}

int routes_ticks_now(const pi2_routes *run, const routes_node *node)
{
    return node->tick * node->interval <= run->now->t + SAME;
}

static void change_capacity(pi2_routes *run, int l, double capacity)
{
    const routes_node *node = run->nodes + l;
    routes_set_capacity(routes_change_mode(run)->links + l, capacity);
    run->weights[node->queue] = QUEUE_WEIGHT * capacity;
    for (int k = 0; k < node->visit_count; k++)
        run->weights[run->visits[node->visits[k]].offered] = capacity;
}

static void change(pi2_routes *run, const fluid_happening *item)
{
    fluid_share *share;
    if (item->kind == CAPACITY) {
        change_capacity(run, item->index, item->value);
        return;
    }
    share = routes_shares(run, routes_change_mode(run)) + item->index;
    switch (item->kind) {
    case COUNT:
        share->count = item->value;
        share->active = share->started && share->count > 0.0;
        break;
    case START:
        share->started = 1;
        share->active = share->count > 0.0;
        share->ramping = item->value != 0.0;
        break;
    case END_RAMP:
        share->ramping = 0;
        break;
    default:
        share->started = share->active = 0;
    }
}

void routes_take_changes(pi2_routes *run)
{
    while (routes_changes_now(run))
        change(run, run->happenings + run->happening++);
    routes_look_ahead(run);
}

double routes_push(const routes_node *node)
{
    const size_t place = (size_t)node->tick - 1;
    return place < node->push_count ? node->pushes[place] : 0.0;
}

static void add(pi2_routes *run, double at, int kind, int index, double value)
{
    const fluid_happening item = {at, kind, index, value};
    int place = run->happening_count++; /* in order; what comes later at one instant stays later */
    for (; place > 0 && run->happenings[place - 1].at > at; place--)
        run->happenings[place] = run->happenings[place - 1];
    run->happenings[place] = item;
}

void routes_schedule(pi2_routes *run, const pi2_routes_problem *problem)
{
    const int classes = problem->class_count;
    for (int i = 0; i < problem->change_count; i++) {
        const pi2_routes_change *c = problem->changes + i;
        if (!isnan(c->capacity))
            add(run, c->at, CAPACITY, c->node, c->capacity);
        for (int j = 0; j < classes; j++)
            if (!isnan(problem->counts[i * classes + j]))
                add(run, c->at, COUNT, j, problem->counts[i * classes + j]);
    }
    for (int j = 0; j < classes; j++) {
        const pi2_fluid_class *c = &problem->classes[j].flows;
        add(run, c->start, START, j, c->start_jitter > 0.0);
        if (c->start_jitter > 0.0)
            add(run, c->start + c->start_jitter, END_RAMP, j, 0.0);
        if (isfinite(c->stop))
            add(run, c->stop, STOP, j, 0.0);
    }
}
