#include "fluid/acks/instants.h"

#include <stdlib.h>

#include "fluid/acks/rests.h"
#include "fluid/acks/steps.h"
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
        const acks_stream *stream = run->streams + i;
        add(run, stream->start);
        add(run, stream->start + stream->ramp);
        add(run, stream->stop);
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
static double tick(const pi2_acks *run)
{
    const double at = run->tick * run->interval;
    return at <= run->end * (1.0 + SAME) ? at : INFINITY;
}

void acks_look_ahead(pi2_acks *run)
{
    const double before = run->t;
    do {
        run->next = other(run) < tick(run) ? other(run) : tick(run);
        run->ticks = 0;
        if (!isfinite(run->next))
            return;
        while (other(run) <= run->next + SAME)
            run->other++;
        while (tick(run) <= run->next + SAME) {
            run->tick++;
            run->ticks = 1;
        }
    } while (run->next <= before + SAME);
}

static void begin_copies(pi2_acks *run)
{
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        if (stream->copied < 0 || fabs(stream->start - run->next) > SAME)
            continue;
        acks_catch_up(stream, &run->past);
        acks_catch_up(run->streams + stream->copied, &run->past);
        acks_copy_window(run, stream, run->streams + stream->copied);
    }
}

/* Whether backlog, controller and windows still are numbers. */
static int is_finite(const pi2_acks *run)
{
    double sum = acks_queue(run) + run->state[0];
    for (int i = 0; i < run->class_count; i++)
        if (!run->streams[i].steady)
            sum += run->streams[i].window[run->trial.now].x[0];
    return isfinite(sum);
}

static void update(pi2_acks *run)
{
    const double *row = acks_newest(&run->past), *before = acks_before(&run->past);
    const double dt = row[TIME] - before[TIME];
    const size_t place = (size_t)run->tick - 2; /* the next tick has been looked up */
    double after[PI2_AQM_STATES] = {0.0};
    pi2_seen seen = {{0.0, 0.0}, acks_queue(run), 0.0, run->capacity, 0.0};
    for (int k = 0; k < run->bands; k++) {
        const acks_line *line = run->lines + k;
        seen.queue_delay[k] = run->head ? line->delay : row[line->column + QUEUE] / run->capacity;
        seen.arrival_rate += row[line->column + ARRIVED] - before[line->column + ARRIVED];
    }
    seen.arrival_rate /= dt;
    if (place < run->push_count)
        run->state[0] += run->pushes[place];
    run->aqm->update(run->law, run->state, &seen, run->interval, after);
    run->aqm->saturate(run->law, after);
    for (int j = 0; j < PI2_AQM_STATES; j++)
        run->state[j] = after[j];
    acks_signal(run, seen.arrival_rate);
    acks_thin(run);
    if (!is_finite(run))
        run->status = PI2_FLUID_NOT_FINITE;
}

void acks_happen(pi2_acks *run)
{
    run->fresh = 0;
    run->planned = 0.0;
    begin_copies(run);
    for (; run->change < run->change_count && run->changes[run->change].at <= run->next + SAME; run->change++)
        run->capacity = run->changes[run->change].capacity;
    if (run->ticks)
        update(run);
}
