/* What happens when, whatever the state: ticks of the controller, changes of load and capacity. */
#include "fluid/schedule.h"

#include "fluid/modes.h"

void fluid_look_ahead(pi2_fluid *run)
{
    const double tick = run->tick * run->interval;
    double next = run->end > run->now->t + SAME ? run->end : INFINITY;
    if (run->happening < run->happening_count && run->happenings[run->happening].at < next)
        next = run->happenings[run->happening].at;
    run->next = tick < next ? tick : next;
}

int fluid_changes_now(const pi2_fluid *run)
{
    return run->happening < run->happening_count && run->happenings[run->happening].at <= run->now->t + SAME;
}

int fluid_ticks_now(const pi2_fluid *run)
{
    return run->tick * run->interval <= run->now->t + SAME;
}

static void change(pi2_fluid *run, const fluid_happening *item)
{
    fluid_mode *mode = fluid_change_mode(run);
    fluid_share *share = mode->of + item->index;
    switch (item->kind) {
    case CAPACITY:
        mode->capacity = item->value;
        break;
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

void fluid_take_changes(pi2_fluid *run)
{
    while (fluid_changes_now(run))
        change(run, run->happenings + run->happening++);
    fluid_look_ahead(run);
}

void fluid_next_tick(pi2_fluid *run)
{
    run->tick++;
    fluid_look_ahead(run);
}

double fluid_push(const pi2_fluid *run)
{
    const size_t place = (size_t)run->tick - 1;
    return place < run->push_count ? run->pushes[place] : 0.0;
}

static void add(pi2_fluid *run, double at, int kind, int index, double value)
{
    int place = run->happening_count++; /* in order; what comes later at one instant stays later */
    for (; place > 0 && run->happenings[place - 1].at > at; place--)
        run->happenings[place] = run->happenings[place - 1];
    run->happenings[place].at = at;
    run->happenings[place].kind = kind;
    run->happenings[place].index = index;
    run->happenings[place].value = value;
}

void fluid_schedule(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    const int classes = problem->class_count;
    for (int i = 0; i < problem->change_count; i++) {
        const pi2_fluid_change *c = problem->changes + i;
        if (!isnan(c->capacity))
            add(run, c->at, CAPACITY, 0, c->capacity);
        for (int j = 0; j < classes; j++)
            if (!isnan(problem->counts[i * classes + j]))
                add(run, c->at, COUNT, j, problem->counts[i * classes + j]);
    }
    for (int j = 0; j < classes; j++) {
        const pi2_fluid_class *c = problem->classes + j;
        add(run, c->start, START, j, c->start_jitter > 0.0);
        if (c->start_jitter > 0.0)
            add(run, c->start + c->start_jitter, END_RAMP, j, 0.0);
        if (isfinite(c->stop))
            add(run, c->stop, STOP, j, 0.0);
    }
}
