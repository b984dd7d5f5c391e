/* Classes, groups and components of a run, and the memory they need. */
#include "fluid/layout.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/controller.h"
#include "fluid/pool.h"

static void take_view(pool *p, const pi2_fluid *run, fluid_view *view)
{
    view->rtt = take(p, (size_t)run->class_count, sizeof(double)); /* at most as many groups */
    view->rates = take(p, (size_t)run->class_count, sizeof(double));
}

static void take_point(pool *p, const pi2_fluid *run, fluid_point *point)
{
    point->y = take(p, (size_t)run->size, sizeof(double));
    point->f = take(p, (size_t)run->size, sizeof(double));
    take_view(p, run, &point->view);
}

static void take_lean(pool *p, fluid_lean *lean, size_t classes)
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

static void take_all(pool *p, pi2_fluid *run, int changes)
{
    const size_t classes = (size_t)run->class_count, size = (size_t)run->size;
    size_t comparisons = (size_t)run->aqm->comparisons, most = comparisons, of_senders = 0;
    for (int i = 0; i < run->class_count; i++) {
        const size_t count = (size_t)run->classes[i].law->comparisons;
        run->classes[i].sides = (int)of_senders;
        of_senders += count;
        most = count > most ? count : most;
    }
    comparisons += of_senders;
    run->agenda.items = take(p, (size_t)changes * (1 + classes) + 3 * classes, sizeof *run->agenda.items);
    run->weights = take(p, size, sizeof(double));
    run->k2 = take(p, size, sizeof(double));
    run->k3 = take(p, size, sizeof(double));
    run->k4 = take(p, size, sizeof(double));
    run->middle = take(p, size, sizeof(double));
    run->then = take(p, size, sizeof(double));
    run->distances = take(p, most, sizeof(double));
    run->sides = take(p, of_senders, 1);
    run->floored = take(p, classes, 1);
    run->hearing = take(p, classes, sizeof *run->hearing);
    run->events = take(p, 2 * 2 + 2 + PI2_AQM_STATES + comparisons + 2 * classes, sizeof *run->events);
    run->now = run->ends;
    run->trial = run->ends + 1;
    take_point(p, run, run->now);
    take_point(p, run, run->trial);
    take_point(p, run, &run->scratch);
    take_view(p, run, &run->view_then);
    take_lean(p, &run->lean, classes);
}

/* The group of classes with that delay, a new one if need be. */
static int find_group(pi2_fluid *run, double base_rtt, int band)
{
    fluid_group *group = run->groups;
    for (; group < run->groups + run->group_count; group++)
        if (group->base_rtt == base_rtt && group->band == band)
            return group->number;
    group->base_rtt = base_rtt;
    group->band = band;
    group->number = run->group_count++;
    group->passed = -1;
    return group->number;
}

static void copy_classes(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    for (int i = 0; i < run->class_count; i++) {
        const pi2_fluid_class *from = problem->classes + i;
        fluid_class *c = run->classes + i;
        c->law = from->law;
        c->parameters = from->parameters;
        c->plain = from->law->plain.known;
        c->signal = from->signal;
        c->thinned = from->thinned;
        c->listens = from->signal != PI2_FLUID_DEAF || !from->law->steady;
        run->thins |= from->thinned;
        c->band = run->bands == 2 && from->signal == PI2_FLUID_SCALABLE;
        c->states = from->law->states;
        c->start = from->start;
        c->start_jitter = from->start_jitter;
        c->most = from->count;
        for (int j = 0; j < problem->change_count; j++) {
            const double count = problem->counts[j * run->class_count + i];
            if (count > c->most) /* not if it is NaN */
                c->most = count;
        }
        c->group = find_group(run, from->base_rtt, c->band);
    }
}

/* Whether some classes share a band, so that it matters which of them sent what leaves. */
static int shares(const pi2_fluid *run)
{
    int members[2] = {0, 0};
    for (int i = 0; i < run->class_count; i++)
        members[run->classes[i].band]++;
    return members[0] > 1 || members[1] > 1;
}

/* Where each component of the state lies. */
static void place_components(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    int place = run->bands;
    run->states = run->aqm->initial(run->law, run->state);
    run->controller = place;
    for (int j = 0; j < run->states; j++)
        if (!(run->aqm->still & (1u << j)))
            run->moves[run->moving++] = j;
    place += run->moving;
    for (int i = 0; i < run->class_count; i++) {
        run->classes[i].x = place;
        place += run->classes[i].states;
        run->rates_compare |= run->classes[i].law->comparisons > 0;
    }
    run->arrived = shares(run) ? place : -1;
    place += run->arrived >= 0 ? run->bands : 0;
    run->stored = place;
    for (int i = 0; i < run->class_count; i++)
        run->classes[i].expected = problem->classes[i].slow_start ? place++ : -1;
    run->size = place;
    /* A known encoder's is looked at as its signals are. */
    run->comparing = run->rates_compare || (run->aqm->comparisons && run->encoder == PI2_OTHER_ENCODER);
}

int fluid_lay_out(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    const size_t classes = (size_t)problem->class_count;
    pool p = {NULL, 0};
    run->classes = calloc(classes, sizeof *run->classes);
    run->groups = calloc(classes, sizeof *run->groups);
    if (!run->classes || !run->groups)
        return 0;
    copy_classes(run, problem);
    place_components(run, problem);
    take_all(&p, run, problem->change_count);
    p.memory = run->memory = calloc(1, p.used);
    p.used = 0;
    if (!run->memory)
        return 0;
    take_all(&p, run, problem->change_count);
    return past_create(&run->past, run->stored,
                       sizeof(fluid_mode) + classes * sizeof(fluid_share) + (size_t)run->aqm->comparisons);
}
