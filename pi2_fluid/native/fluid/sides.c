#include "fluid/sides.h"

#include <string.h>

#include "fluid/answers.h"
#include "fluid/modes.h"
#include "fluid/plant.h"
#include "fluid/slopes.h"

static void queue_differences(pi2_fluid *run, const double *y, const fluid_view *view, double *values)
{
    double state[PI2_AQM_STATES], growth[2];
    pi2_seen seen;
    fluid_state(run, y, state);
    fluid_seen(run, y, run->mode, view, &seen);
    fluid_queue_slopes(run, view->net, run->mode, growth);
    run->aqm->differences(run->law, state, &seen, growth[0] / run->mode->capacity, fluid_sides(run, run->mode), values);
}

int fluid_distances(pi2_fluid *run, int k, double t, const double *y, const fluid_view *view, double *distances)
{
    const int queue = k == run->class_count;
    const fluid_class *c = queue ? NULL : run->classes + k;
    const signed char *comparing = queue ? run->aqm->comparing : c->law->comparing;
    const signed char *sides = queue ? fluid_sides(run, run->mode) : fluid_rate_sides(run, c);
    if (!sides || (c && !(run->mode->of[k].active && c->listens)))
        return 0;
    if (queue)
        queue_differences(run, y, view, distances);
    else
        fluid_rate_differences(run, k, t, y, view, distances);
    const int count = queue ? run->aqm->comparisons : c->law->comparisons;
    for (int j = 0; j < count; j++)
        distances[j] = comparing[j] < 0 ? 1.0 : answer_distance(comparing[j], distances[j], sides[j]);
    return count;
}

int fluid_take_queue_sides(pi2_fluid *run)
{
    const int count = run->aqm->comparisons, before = run->by_numbers;
    signed char *held;
    int changed = !run->mode->sided;
    if (!count)
        return 0;
    run->by_numbers = 1;
    fluid_observe(run, run->now->t, run->now->y, run->mode, &run->scratch.view);
    queue_differences(run, run->now->y, &run->scratch.view, run->distances);
    run->by_numbers = before;
    held = (signed char *)(run->mode->of + run->class_count);
    for (int j = 0; j < count; j++)
        changed |= held[j] != answer_of(run->aqm->comparing[j], run->distances[j]);
    if (!changed)
        return 0;
    fluid_change_mode(run)->sided = 1;
    held = (signed char *)(run->mode->of + run->class_count);
    for (int j = 0; j < count; j++)
        held[j] = answer_of(run->aqm->comparing[j], run->distances[j]);
    return 1;
}

void fluid_take_rate_sides(pi2_fluid *run)
{
    run->by_numbers = 1;
    if (run->rates_compare)
        fluid_observe(run, run->now->t, run->now->y, run->mode, &run->scratch.view);
    for (int i = 0; i < run->class_count && run->rates_compare; i++) {
        const fluid_class *c = run->classes + i;
        if (!c->law->comparisons || !run->mode->of[i].active || !c->listens)
            continue;
        fluid_rate_differences(run, i, run->now->t, run->now->y, &run->scratch.view, run->distances);
        for (int j = 0; j < c->law->comparisons; j++)
            run->sides[c->sides + j] = answer_of(c->law->comparing[j], run->distances[j]);
    }
    run->by_numbers = 0;
}

void fluid_turn_side(pi2_fluid *run, int k, int number)
{
    if (k < run->class_count)
        run->sides[run->classes[k].sides + number] ^= 1;
    else
        ((signed char *)(fluid_change_mode(run)->of + run->class_count))[number] ^= 1;
}
