#include "fluid/acks/windows.h"

void acks_leave_slow_start(pi2_acks *run, acks_stream *stream)
{
    acks_window *now = stream->window + run->trial.now;
    const double before = now->x[0];
    stream->slow = 0;
    run->slow_count--;
    stream->law->leave_slow_start(stream->parameters, now->x);
    now->grown = now->grown + now->x[0] - before;
    for (int j = 0; j < stream->states; j++)
        now->speed[j] = 0.0;
}

static void copy_cuts(const acks_past *past, const acks_stream *stream, const acks_stream *other)
{
    for (double *row = past->rows + past->oldest; row <= acks_newest(past); row += past->width) {
        row[stream->column + CUT] = row[other->column + CUT];
        row[stream->column + CUT_INTEGRAL] = row[other->column + CUT_INTEGRAL];
    }
}

void acks_copy_window(pi2_acks *run, acks_stream *stream, const acks_stream *other)
{
    acks_window *now = stream->window + run->trial.now;
    const double acked = now->acked, heard = now->heard;
    double *row = acks_newest(&run->past) + stream->column;
    *now = other->window[run->trial.now];
    now->acked = acked;
    now->heard = heard;
    now->silence = 0.0;
    run->slow_count += other->slow - stream->slow;
    stream->slow = other->slow;
    copy_cuts(&run->past, stream, other);
    if (stream->spreads) {
        acks_lag *lag = run->lags + stream->round_trip_ago;
        const acks_place then = acks_find_time(&run->past, &lag->cursor, run->t - lag->time);
        now->grown = now->x[0] + (row[CUT_INTEGRAL] - acks_integral_until(stream, then)) * stream->per_round_trip;
    }
    row[SIZE] = now->x[0];
}
