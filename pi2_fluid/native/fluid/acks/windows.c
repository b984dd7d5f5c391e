#include "fluid/acks/windows.h"

void acks_leave_slow_start(acks_stream *stream)
{
    acks_moved *now = stream->now;
    const double before = now->x[0];
    stream->slow = 0;
    stream->law->leave_slow_start(stream->parameters, now->x);
    now->grown = now->grown + now->x[0] - before;
    for (int j = 0; j < stream->states; j++)
        now->speed[j] = 0.0;
}

void acks_copy_window(pi2_acks *run, acks_stream *stream, const acks_stream *other)
{
    const acks_past *past = &run->past;
    acks_lag *lag = run->lags + stream->round_trip_ago;
    *stream->now = *other->now;
    stream->slow = other->slow;
    for (double *row = past->rows + past->oldest; row <= acks_newest(past); row += past->width) {
        row[stream->column + CUT] = row[other->column + CUT];
        row[stream->column + CUT_INTEGRAL] = row[other->column + CUT_INTEGRAL];
    }
    if (stream->spreads) {
        const acks_place then = acks_find(past, &lag->cursor, TIME, run->t - lag->time);
        stream->now->grown = stream->now->x[0]
                             + (stream->now->cut_integral - acks_integral_until(stream, then)) * stream->per_round_trip;
    }
    acks_newest(past)[stream->column + SIZE] = stream->now->x[0];
}
