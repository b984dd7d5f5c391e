/* The schedule: when flows start and stop, and when the capacity changes. */
#include "packet/schedule.h"

#include <stdlib.h>

#include "packet/run/link.h"
#include "packet/run/paths.h"
#include "packet/run/statistics.h"
#include "packet/run/streams.h"
#include "packet/run/transfers.h"
#include "packet/source.h"
#include "packet/tcp/ends/connection.h"

/* Steps: of each class its beginning, its changes and its end; changes of capacities */

static void add_step(pi2_run *run, pi2_step step)
{
    step.order = run->step_count;
    run->steps[run->step_count++] = step;
}

/* By time, then capacities first, by link, then paths, then by class, then as given: qsort alone may change the order of equals. */
static int compare_steps(const void *x, const void *y)
{
    const pi2_step *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->link != b->link)
        return a->link < b->link ? -1 : 1;
    return a->class_ != b->class_ ? a->class_ - b->class_ : a->order - b->order;
}

int pi2_schedule_new(pi2_run *run, const pi2_packet_scenario *s)
{
    const size_t most_steps = (size_t)s->class_count * ((size_t)s->change_count + 2) + (size_t)s->change_count
                              + (size_t)s->detour_count;
    pi2_class_step *told = malloc(((size_t)s->change_count + 2) * sizeof *told);
    uint64_t flows = 0;
    run->steps = malloc(most_steps * sizeof *run->steps);
    if (!run->steps || !told)
        goto full;
    for (int i = 0; i < s->class_count; i++) {
        pi2_class *class_ = run->classes + i;
        int steps;
        const uint64_t most = pi2_class_steps(s, i, told, &steps);
        for (int j = 0; j < steps; j++)
            add_step(run, (pi2_step){.at = told[j].at, .class_ = i, .link = UINT32_MAX, .count = told[j].count});
        class_->first = (uint32_t)flows;
        class_->most = (uint32_t)most;
        flows += most;
        if (flows >= UINT32_MAX / PI2_TIMERS_EACH)
            goto full;
        class_->present = malloc((most + 1) * sizeof *class_->present);
        if (!class_->present)
            goto full;
    }
    free(told);
    for (int j = 0; j < s->change_count; j++)
        if (s->changes[j].capacity >= 0.0)
            add_step(run, (pi2_step){.at = s->changes[j].at, .class_ = -1, .link = s->changes[j].link,
                                     .capacity = s->changes[j].capacity});
    for (int j = 0; j < s->detour_count; j++) {
        const pi2_packet_detour *d = s->detours + j;
        pi2_step step = {.at = d->at, .class_ = -2 - (int)d->class_, .link = UINT32_MAX};
        step.forward = pi2_paths_split(s, s->classes + d->class_, d->base_rtt, &step.back);
        add_step(run, step);
    }
    qsort(run->steps, (size_t)run->step_count, sizeof *run->steps, compare_steps);
    run->flow_count = (uint32_t)flows;
    run->starts = malloc((flows + (size_t)s->class_count) * sizeof *run->starts);
    run->step_due = run->step_count ? run->steps[0].at : PI2_NEVER;
    run->start_due = PI2_NEVER;
    return run->starts != NULL;
full:
    free(told);
    return 0;
}

void pi2_schedule_free(pi2_run *run)
{
    for (int i = 0; run->classes && i < run->scenario.class_count; i++)
        free(run->classes[i].present);
    free(run->steps);
    free(run->starts);
}

/* Starts: a heap of (at, flow) */

static int earlier(pi2_start a, pi2_start b)
{
    return a.at < b.at || (a.at == b.at && a.flow < b.flow);
}

static void push_start(pi2_run *run, pi2_start start)
{
    uint32_t hole = run->start_count++;
    for (; hole > 0 && earlier(start, run->starts[(hole - 1) / 2]); hole = (hole - 1) / 2)
        run->starts[hole] = run->starts[(hole - 1) / 2];
    run->starts[hole] = start;
    run->start_due = run->starts[0].at;
}

static pi2_start pop_start(pi2_run *run)
{
    const pi2_start first = run->starts[0], last = run->starts[--run->start_count];
    uint32_t hole = 0;
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= run->start_count)
            break;
        if (child + 1 < run->start_count && earlier(run->starts[child + 1], run->starts[child]))
            child++;
        if (!earlier(run->starts[child], last))
            break;
        run->starts[hole] = run->starts[child];
        hole = child;
    }
    run->starts[hole] = last;
    run->start_due = run->start_count ? run->starts[0].at : PI2_NEVER;
    return first;
}

/* The next transfer that arrives at a class. */
static void plan_arrival(pi2_run *run, const pi2_class *class_, int64_t now)
{
    push_start(run, (pi2_start){now + pi2_transfer_gap(run, class_), run->flow_count + (uint32_t)(class_ - run->classes)});
}

/* A transfer arrives: it has the flow that was free last, and is turned away if there is none. */
static void arrive(pi2_run *run, pi2_class *class_, int64_t now)
{
    pi2_flow *f = NULL;
    class_->arriving = class_->present_count > 0;
    if (!class_->arriving)
        return;
    class_->arrived++;
    plan_arrival(run, class_, now);
    while (class_->free_count > 0 && (!f || f->life == PI2_STOPPED))
        f = run->flows + class_->free[--class_->free_count];
    if (f && f->life != PI2_STOPPED)
        pi2_flow_open(run, f, now);
    else
        class_->turned_away++;
}

/* A flow that is there no more is not called again: whoever comes later is another one. */
static void call_flows(pi2_run *run, pi2_class *class_, uint32_t count, int64_t now)
{
    while (class_->present_count < count) {
        const uint32_t flow = class_->first + class_->used++;
        const uint64_t key = pi2_stream_key(run->scenario.seed, PI2_STREAM_FLOWS + (uint64_t)flow);
        const uint64_t jitter = (uint64_t)class_->spec->start_jitter;
        const int64_t late = jitter ? (int64_t)(pi2_random(key, 0) % (jitter + 1)) : 0;
        class_->present[class_->present_count++] = flow;
        if (pi2_transfers_arrive(class_))
            class_->free[class_->free_count++] = flow;
        else
            push_start(run, (pi2_start){now + late, flow});
    }
    if (pi2_transfers_arrive(class_) && count > 0 && !class_->arriving) {
        class_->arriving = 1;
        plan_arrival(run, class_, now);
    }
    while (class_->present_count > count) {
        pi2_flow *f = run->flows + class_->present[--class_->present_count];
        pi2_flow_close(run, f, now);
    }
}

void pi2_schedule_step(pi2_run *run, int64_t now)
{
    const pi2_step *step = run->steps + run->next_step++;
    run->step_due = run->next_step < run->step_count ? step[1].at : PI2_NEVER;
    if (step->class_ < -1)
        pi2_paths_change(run, run->classes - 2 - step->class_, step->forward, step->back);
    else if (step->class_ < 0)
        pi2_link_capacity(run, run->hops + step->link, step->capacity, now);
    else
        call_flows(run, run->classes + step->class_, step->count, now);
}

void pi2_schedule_start(pi2_run *run, int64_t now)
{
    const uint32_t who = pop_start(run).flow;
    pi2_flow *f;
    if (who >= run->flow_count) {
        arrive(run, run->classes + (who - run->flow_count), now);
        return;
    }
    f = run->flows + who;
    if (f->life == PI2_STOPPED) /* before it began */
        return;
    if (pi2_class_of(run, f)->spec->congestion) {
        pi2_flow_open(run, f, now);
    } else {
        pi2_source_start(run, f, now);
    }
}
