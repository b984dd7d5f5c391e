/* What happens when, whatever the state: ticks of the controller, changes of load and capacity. */
#include "fluid/schedule.h"

#include "fluid/agenda.h"
#include "fluid/modes.h"

void fluid_look_ahead(pi2_fluid *run)
{
    const double tick = run->tick * run->interval;
    const double next = agenda_next(&run->agenda, run->end > run->now->t + SAME ? run->end : INFINITY);
    run->next = tick < next ? tick : next;
}

int fluid_changes_now(const pi2_fluid *run)
{
    return agenda_due(&run->agenda, run->now->t);
}

int fluid_ticks_now(const pi2_fluid *run)
{
    return run->tick * run->interval <= run->now->t + SAME;
}

void fluid_take_changes(pi2_fluid *run)
{
    while (fluid_changes_now(run)) {
        const fluid_happening *item = run->agenda.items + run->agenda.next++;
        fluid_mode *mode = fluid_change_mode(run);
        if (item->kind == CAPACITY)
            mode->capacity = item->value;
        else
            agenda_change_share(mode->of + item->index, item);
    }
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

void fluid_schedule(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    const int classes = problem->class_count;
    for (int i = 0; i < problem->change_count; i++) {
        const pi2_fluid_change *c = problem->changes + i;
        agenda_add_change(&run->agenda, c->at, 0, c->capacity, problem->counts + i * classes, classes);
    }
    for (int j = 0; j < classes; j++)
        agenda_add_class(&run->agenda, j, problem->classes + j);
}
