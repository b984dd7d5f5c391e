#include "fluid/acks/rests.h"

#include <string.h>

#include "fluid/acks/streams.h"

static void remember(acks_stream *stream, const acks_past *past)
{
    memcpy(stream->resting, acks_newest(past) + stream->column, sizeof stream->resting);
    stream->since = acks_newest(past)[TIME];
}

void acks_catch_up(acks_stream *stream, const acks_past *past)
{
    if (!stream->rests)
        return;
    for (double *row = acks_newest(past); row >= past->rows + past->oldest && row[TIME] > stream->since;
         row -= past->width) {
        memcpy(row + stream->column, stream->resting, sizeof stream->resting);
        /* nothing is cut, but the time goes on over which cuts are obeyed */
        row[stream->column + CUT_INTEGRAL] += (row[TIME] - stream->since) * stream->resting[CUT];
    }
    remember(stream, past);
}

/* Both windows of one that rests are the same, whichever is that of now. */
static void choose_rest(pi2_acks *run, acks_stream *stream)
{
    const double *row = acks_newest(&run->past) + stream->column;
    if (stream->rests && stream->phase == PAUSES)
        return;
    acks_catch_up(stream, &run->past);
    stream->rests = stream->phase == PAUSES && row[LEFT] == row[SENT];
    remember(stream, &run->past);
    stream->window[!run->trial.now] = stream->window[run->trial.now];
}

void acks_choose_phases(pi2_acks *run, double t)
{
    run->active_count = 0;
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        stream->phase = acks_phase(stream, t, run->next);
        choose_rest(run, stream);
        if (!stream->rests)
            run->active[run->active_count++] = i;
    }
}
