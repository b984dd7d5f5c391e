/* A window that moves with acknowledgements: its law's growth, and its cuts as they are obeyed.
 *
 * What every step does is inline, here and in streams.h and lines.h: a step is a hundred operations or two.
 */
#pragma once

#include "fluid/acks/run.h"
#include "laws/senders/reno.h"
#include "laws/senders/scalable.h"

#define LEAST 0.01 /* segments, at which a window is held that its law would carry below */

/* The integral of the cuts until an instant; it is quadratic where they are linear. */
static inline double acks_integral_until(const acks_stream *stream, acks_place then)
{
    const double since = then.part * (then.to[TIME] - then.from[TIME]);
    const size_t cut = stream->column + CUT;
    return then.from[stream->column + CUT_INTEGRAL] + 0.5 * since * (then.from[cut] + acks_at(then, cut));
}

/* The law's change of every state per second, and the cut apart from it. */
static inline double acks_change_of(const acks_stream *stream, int kind, const double *x, double acks, double marks,
                                    double rtt, double *change)
{
    if (kind == RENO)
        return pi2_reno_acked((const pi2_reno *)stream->parameters, x[0], acks, marks, change);
    if (kind == SCALABLE)
        return pi2_scalable_acked((const pi2_scalable *)stream->parameters, x[0], acks, marks, change);
    return stream->law->acked(stream->parameters, x, acks, marks, rtt, change);
}

/* By the midpoint rule, whose middle is where the last step leads to; of one state, if the law is inline. */
static inline void acks_follow_law(acks_stream *stream, int kind, acks_time step, double acks, double marks, double rtt,
                                   double then)
{
    const acks_moved *now = stream->now;
    const int n = kind == OTHER_LAW ? stream->states : 1;
    acks_moved *to = stream->then;
    double middle[PI2_SENDER_STATES], change[PI2_SENDER_STATES], fallen, grown, size;
    for (int j = 0; j < n; j++)
        middle[j] = now->x[j] + 0.5 * step.dt * now->speed[j];
    if (middle[0] < LEAST)
        middle[0] = LEAST;
    fallen = acks_change_of(stream, kind, middle, acks, marks, rtt, change) * step.dt;
    for (int j = 1; j < n; j++) {
        to->x[j] = now->x[j] + change[j] * step.dt;
        to->speed[j] = change[j];
    }
    grown = now->grown + change[0] * step.dt;
    if (stream->spreads) {
        const double cut = now->cut + fallen;
        to->cut = cut;
        to->cut_integral = now->cut_integral + 0.5 * step.dt * (now->cut + cut);
        size = grown - (to->cut_integral - then) * stream->per_round_trip;
    } else {
        grown -= fallen;
        size = grown;
    }
    if (size < LEAST) {
        grown = grown + LEAST - size;
        size = LEAST;
    }
    to->grown = grown;
    to->x[0] = size;
    to->speed[0] = (size - now->x[0]) * step.per_second;
}

/* What the window of a stream is after a step, in stream->then; `acks` and `marks` of one flow. */
static inline void acks_move_window(acks_stream *stream, const acks_lag *lags, acks_time step, double acks,
                                    double marks, double rtt)
{
    double then;
    if (stream->slow) {
        *stream->then = *stream->now;
        stream->then->x[0] += acks;
        stream->then->grown += acks;
        stream->then->expected += marks;
        return;
    }
    then = stream->spreads ? acks_integral_until(stream, lags[stream->round_trip_ago].place) : 0.0;
    acks *= step.per_second;
    marks *= step.per_second;
    if (stream->kind == RENO)
        acks_follow_law(stream, RENO, step, acks, marks, rtt, then);
    else if (stream->kind == SCALABLE)
        acks_follow_law(stream, SCALABLE, step, acks, marks, rtt, then);
    else
        acks_follow_law(stream, OTHER_LAW, step, acks, marks, rtt, then);
}

void acks_leave_slow_start(acks_stream *stream);
/* Begin as another class's window is now, reductions under way included. */
void acks_copy_window(pi2_acks *run, acks_stream *stream, const acks_stream *other);
