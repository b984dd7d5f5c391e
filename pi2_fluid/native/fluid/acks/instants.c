#include "fluid/acks/instants.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/acks/links.h"
#include "fluid/acks/rests.h"
#include "fluid/acks/windows.h"

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void add(pi2_acks *run, double at)
{
    if (0.0 < at && at <= run->end)
        run->others[run->other_count++] = at;
}

int acks_collect(pi2_acks *run)
{
    run->others = malloc(((size_t)run->change_count + 3 * (size_t)run->class_count + 1) * sizeof *run->others);
    if (!run->others)
        return 0;
    for (int i = 0; i < run->change_count; i++)
        add(run, run->changes[i].at);
    for (int i = 0; i < run->class_count; i++) {
        const acks_source *source = run->sources + i;
        add(run, source->start);
        add(run, source->start + source->ramp);
        add(run, source->stop);
    }
    add(run, run->end);
    qsort(run->others, (size_t)run->other_count, sizeof *run->others, compare);
    return 1;
}

static double other(const pi2_acks *run)
{
    return run->other < run->other_count ? run->others[run->other] : INFINITY;
}

/* Ticks after the end do not count. */
static double tick(const pi2_acks *run, const acks_link *link)
{
    const double at = link->tick * link->interval;
    return at <= run->end * (1.0 + SAME) ? at : INFINITY;
}

static double earliest(const pi2_acks *run)
{
    double next = other(run);
    for (int k = 0; k < run->link_count; k++)
        next = fmin(next, tick(run, run->links + k));
    return next;
}

void acks_look_ahead(pi2_acks *run)
{
    const double before = run->t;
    do {
        run->next = earliest(run);
        if (!isfinite(run->next))
            return;
        while (other(run) <= run->next + SAME)
            run->other++;
        for (int k = 0; k < run->link_count; k++) {
            acks_link *link = run->links + k;
            link->ticks = 0;
            while (tick(run, link) <= run->next + SAME) {
                link->tick++;
                link->ticks = 1;
            }
        }
    } while (run->next <= before + SAME);
}

static void begin_copies(pi2_acks *run)
{
    for (int i = 0; i < run->class_count; i++) {
        acks_source *source = run->sources + i;
        if (source->copied < 0 || fabs(source->start - run->next) > SAME)
            continue;
        acks_catch_up(source, &run->past);
        acks_catch_up(run->sources + source->copied, &run->past);
        acks_copy_window(run, source, run->sources + source->copied);
    }
}

/* Whether backlogs, controllers and windows still are numbers. */
static int is_finite(const pi2_acks *run)
{
    double sum = 0.0;
    for (int k = 0; k < run->link_count; k++)
        sum += acks_queue(run, run->links + k, acks_newest(&run->past)) + run->links[k].state[0];
    for (int i = 0; i < run->class_count; i++)
        if (!run->sources[i].steady)
            sum += run->sources[i].window[run->trial.now].x[0];
    return isfinite(sum);
}

/* Packets/s that came in the last step. */
static double arrival_rate(const pi2_acks *run, const acks_link *link)
{
    const double *row = acks_newest(&run->past), *before = acks_before(&run->past);
    double came = 0.0;
    for (int k = 0; k < link->bands; k++) {
        const size_t column = run->lines[link->first_line + k].column + ARRIVED;
        came += row[column] - before[column];
    }
    return came / (row[TIME] - before[TIME]);
}

static void update(pi2_acks *run, acks_link *link)
{
    const double *row = acks_newest(&run->past);
    const size_t place = (size_t)link->tick - 2; /* the next tick has been looked up */
    const double rate = arrival_rate(run, link);
    double after[PI2_AQM_STATES] = {0.0};
    pi2_seen seen = acks_seen(run, link, row, rate);
    if (!link->head)
        for (int k = 0; k < link->bands; k++)
            seen.queue_delay[k] = row[run->lines[link->first_line + k].column + QUEUE] / link->capacity;
    if (place < link->push_count)
        link->state[0] += link->pushes[place];
    link->aqm->update(link->law, link->state, &seen, link->interval, after);
    link->aqm->saturate(link->law, after);
    for (int j = 0; j < PI2_AQM_STATES; j++)
        link->state[j] = after[j];
    seen = acks_seen(run, link, row, rate);
    acks_signal(run, link, &seen, run->p);
}

void acks_happen(pi2_acks *run)
{
    run->fresh = 0;
    run->planned = 0.0;
    begin_copies(run);
    for (; run->change < run->change_count && run->changes[run->change].at <= run->next + SAME; run->change++)
        run->links[run->changes[run->change].node].capacity = run->changes[run->change].capacity;
    for (int k = 0; k < run->link_count; k++)
        if (run->links[k].ticks)
            update(run, run->links + k);
    memcpy(run->p_after, run->p, (size_t)run->passage_count * sizeof *run->p);
    if (!is_finite(run))
        run->status = PI2_FLUID_NOT_FINITE;
}
