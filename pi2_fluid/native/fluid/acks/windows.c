#include "fluid/acks/windows.h"

#include "laws/senders/reno.h"
#include "laws/senders/scalable.h"

enum { SWEEPS = 2 }; /* of the midpoint rule: each brings it closer by h/R, in parts of a window */
static const double LEAST = 0.01; /* segments, at which a window is held that its law would carry below */

/* The integral of the cuts until one round trip before `t`; it is quadratic where they are linear. */
static double integral_then(acks_stream *stream, const acks_past *past, double t)
{
    const acks_place then = acks_find(past, &stream->cuts_ago, TIME, t - stream->round_trip);
    const double since = then.part * (then.to[TIME] - then.from[TIME]);
    const size_t cut = stream->column + CUT;
    return then.from[stream->column + CUT_INTEGRAL] + 0.5 * since * (then.from[cut] + acks_at(then, cut));
}

/* The law's change of every state per second, and the cut apart from it. */
static inline double change_of(const acks_stream *stream, int kind, const double *x, double acks, double marks,
                               double rtt, double *change)
{
    if (kind == RENO)
        return pi2_reno_acked((const pi2_reno *)stream->parameters, x[0], acks, marks, change);
    if (kind == SCALABLE)
        return pi2_scalable_acked((const pi2_scalable *)stream->parameters, x[0], acks, marks, change);
    return stream->law->acked(stream->parameters, x, acks, marks, rtt, change);
}

/* Sweeps of the midpoint rule; of one state, if the law is inline. */
static inline void sweep(acks_stream *stream, int kind, acks_time step, double acks, double marks, double rtt,
                         double then)
{
    const acks_moved now = *stream->now;
    const int n = kind == OTHER_LAW ? stream->states : 1;
    acks_moved to = now;
    for (int k = 0; k < SWEEPS; k++) {
        double middle[PI2_SENDER_STATES], change[PI2_SENDER_STATES], fallen;
        for (int j = 0; j < n; j++)
            middle[j] = 0.5 * (now.x[j] + to.x[j]);
        fallen = change_of(stream, kind, middle, acks, marks, rtt, change) * step.dt;
        for (int j = 1; j < n; j++)
            to.x[j] = now.x[j] + change[j] * step.dt;
        to.grown = now.grown + change[0] * step.dt;
        if (stream->spreads) {
            to.cut = now.cut + fallen;
            to.cut_integral = now.cut_integral + 0.5 * step.dt * (now.cut + to.cut);
            to.x[0] = to.grown - (to.cut_integral - then) * stream->per_round_trip;
        } else {
            to.grown -= fallen;
            to.x[0] = to.grown;
        }
        if (to.x[0] < LEAST) {
            to.grown = to.grown + LEAST - to.x[0];
            to.x[0] = LEAST;
        }
    }
    *stream->then = to;
}

void acks_move_window(acks_stream *stream, const acks_past *past, acks_time step, double acks, double marks,
                      double rtt)
{
    double then;
    if (stream->slow) {
        *stream->then = *stream->now;
        stream->then->x[0] += acks;
        stream->then->grown += acks;
        stream->then->expected += marks;
        return;
    }
    then = stream->spreads ? integral_then(stream, past, step.t) : 0.0;
    acks *= step.per_second;
    marks *= step.per_second;
    if (stream->kind == RENO)
        sweep(stream, RENO, step, acks, marks, rtt, then);
    else if (stream->kind == SCALABLE)
        sweep(stream, SCALABLE, step, acks, marks, rtt, then);
    else
        sweep(stream, OTHER_LAW, step, acks, marks, rtt, then);
}

void acks_leave_slow_start(acks_stream *stream)
{
    acks_moved *now = stream->now;
    const double before = now->x[0];
    stream->slow = 0;
    stream->law->leave_slow_start(stream->parameters, now->x);
    now->grown = now->grown + now->x[0] - before;
}

void acks_copy_window(acks_stream *stream, const acks_stream *other, acks_past *past)
{
    const double t = acks_row(past, past->newest)[TIME];
    *stream->now = *other->now;
    stream->slow = other->slow;
    for (size_t node = past->oldest; node <= past->newest; node++) {
        double *row = acks_row(past, node);
        row[stream->column + CUT] = row[other->column + CUT];
        row[stream->column + CUT_INTEGRAL] = row[other->column + CUT_INTEGRAL];
    }
    if (stream->spreads)
        stream->now->grown = stream->now->x[0]
                             + (stream->now->cut_integral - integral_then(stream, past, t)) * stream->per_round_trip;
    acks_row(past, past->newest)[stream->column + SIZE] = stream->now->x[0];
}
