#include "fluid/acks/windows.h"

void acks_leave_slow_start(pi2_acks *run, acks_source *source)
{
    acks_window *now = source->window + run->trial.now;
    const double before = now->x[0];
    source->slow = 0;
    run->slow_count--;
    source->law->leave_slow_start(source->parameters, now->x);
    now->grown = now->grown + now->x[0] - before;
    for (int j = 0; j < source->states; j++)
        now->speed[j] = 0.0;
}

static void copy_cuts(const acks_past *past, const acks_source *source, const acks_source *other)
{
    for (double *row = past->rows + past->oldest; row <= acks_newest(past); row += past->width) {
        row[source->column + CUT] = row[other->column + CUT];
        row[source->column + CUT_INTEGRAL] = row[other->column + CUT_INTEGRAL];
    }
}

void acks_copy_window(pi2_acks *run, acks_source *source, const acks_source *other)
{
    acks_window *now = source->window + run->trial.now;
    const double acked = now->acked, heard = now->heard;
    double *row = acks_newest(&run->past) + source->column;
    *now = other->window[run->trial.now];
    now->acked = acked;
    now->heard = heard;
    now->silence = 0.0;
    run->slow_count += other->slow - source->slow;
    source->slow = other->slow;
    copy_cuts(&run->past, source, other);
    if (source->spreads) {
        acks_lag *lag = run->lags + source->round_trip_ago;
        const acks_place then = acks_find_time(&run->past, &lag->cursor, run->t - lag->time, acks_before(&run->past));
        now->grown = now->x[0] + (row[CUT_INTEGRAL] - acks_integral_until(source, then)) * source->per_round_trip;
    }
    row[SIZE] = now->x[0];
}
