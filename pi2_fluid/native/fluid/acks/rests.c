#include "fluid/acks/rests.h"

#include <string.h>

#include "fluid/acks/sources.h"

static size_t bytes_of(const acks_source *source)
{
    return source->columns * sizeof *source->resting;
}

static void remember(acks_source *source, const acks_past *past)
{
    memcpy(source->resting, acks_newest(past) + source->column, bytes_of(source));
    source->since = acks_newest(past)[TIME];
}

void acks_catch_up(acks_source *source, const acks_past *past)
{
    if (!source->rests)
        return;
    for (double *row = acks_newest(past); row >= past->rows + past->oldest && row[TIME] > source->since;
         row -= past->width) {
        memcpy(row + source->column, source->resting, bytes_of(source));
        /* nothing is cut, but the time goes on over which cuts are obeyed */
        row[source->column + CUT_INTEGRAL] += (row[TIME] - source->since) * source->resting[CUT];
    }
    remember(source, past);
}

/* Whether everything of it has come to each link, and has left. */
static int has_left(const pi2_acks *run, const acks_source *source)
{
    const double *row = acks_newest(&run->past);
    for (int j = 0; j < source->length; j++) {
        const acks_passage *passage = run->passages + source->first + j;
        if (row[passage->fed] != row[passage->feed_passed] || row[passage->passed] != row[passage->came])
            return 0;
    }
    return 1;
}

/* Both windows of one that rests are the same, whichever is that of now. */
static void choose_rest(pi2_acks *run, acks_source *source)
{
    if (source->rests && source->phase == PAUSES)
        return;
    acks_catch_up(source, &run->past);
    source->rests = source->phase == PAUSES && has_left(run, source);
    remember(source, &run->past);
    source->window[!run->trial.now] = source->window[run->trial.now];
}

/* Finds the passages of a queue that do not rest. */
static void find_active(pi2_acks *run, acks_line *line)
{
    const double *row = acks_newest(&run->past);
    line->active_count = 0;
    for (int j = 0; j < line->count; j++) {
        const int i = run->members[line->first + j];
        acks_passage *passage = run->passages + i;
        const acks_source *source = run->sources + passage->owner;
        if (!source->rests)
            run->active[line->first + line->active_count++] = i;
        else if (source->since == row[TIME])
            passage->packets = row[run->lossy ? passage->real : passage->came];
    }
}

void acks_choose_phases(pi2_acks *run, double t)
{
    for (int i = 0; i < run->class_count; i++) {
        acks_source *source = run->sources + i;
        source->phase = acks_phase(source, t, run->next);
        choose_rest(run, source);
    }
    for (int k = 0; k < run->line_count; k++)
        find_active(run, run->lines + k);
    run->asked_count = 0;
    for (int j = 0; j < run->class_count + run->link_count; j++)
        if (run->order[j] >= run->class_count || !run->sources[run->order[j]].rests)
            run->asked[run->asked_count++] = run->order[j];
}
