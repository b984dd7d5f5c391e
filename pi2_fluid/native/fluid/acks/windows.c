#include "fluid/acks/windows.h"

enum { SWEEPS = 3 }; /* of the midpoint rule, each of which is h/R closer */
static const double LEAST = 0.01; /* segments, at which a window is held that its law would carry below */

/* The integral of the cuts until one round trip before `t`; it is quadratic where they are linear. */
static double integral_then(acks_stream *stream, const acks_past *past, double t)
{
    const acks_place then = acks_find(past, &stream->cuts_ago, TIME, t - stream->round_trip);
    const double since = then.part * (then.to[TIME] - then.from[TIME]);
    const size_t cut = stream->column + CUT;
    return then.from[stream->column + CUT_INTEGRAL] + 0.5 * since * (then.from[cut] + acks_at(then, cut));
}

static void hold(acks_moved *to)
{
    if (to->x[0] < LEAST) {
        to->grown = to->grown + LEAST - to->x[0];
        to->x[0] = LEAST;
    }
}

void acks_move_window(acks_stream *stream, const acks_past *past, double t, double dt, double acks, double marks,
                      double rtt, acks_moved *to)
{
    const acks_moved *now = &stream->now;
    const int n = stream->states;
    const double per_second = acks / dt, marks_per_second = marks / dt;
    double then = 0.0, middle[PI2_SENDER_STATES], change[PI2_SENDER_STATES];
    *to = *now;
    if (stream->slow) {
        to->x[0] += acks;
        to->grown += acks;
        to->expected += marks;
        return;
    }
    if (stream->spreads)
        then = integral_then(stream, past, t);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double fallen;
        for (int j = 0; j < n; j++)
            middle[j] = 0.5 * (now->x[j] + to->x[j]);
        fallen = stream->law->acked(stream->parameters, middle, per_second, marks_per_second, rtt, change) * dt;
        for (int j = 1; j < n; j++)
            to->x[j] = now->x[j] + change[j] * dt;
        to->grown = now->grown + change[0] * dt;
        if (stream->spreads) {
            to->cut = now->cut + fallen;
            to->cut_integral = now->cut_integral + 0.5 * dt * (now->cut + to->cut);
            to->x[0] = to->grown - (to->cut_integral - then) / stream->round_trip;
        } else {
            to->grown -= fallen;
            to->x[0] = to->grown;
        }
        hold(to);
    }
}

void acks_leave_slow_start(acks_stream *stream)
{
    acks_moved *now = &stream->now;
    const double before = now->x[0];
    stream->slow = 0;
    stream->law->leave_slow_start(stream->parameters, now->x);
    now->grown = now->grown + now->x[0] - before;
}

void acks_copy_window(acks_stream *stream, const acks_stream *other, acks_past *past)
{
    const double t = acks_row(past, past->newest)[TIME];
    stream->now = other->now;
    stream->slow = other->slow;
    for (size_t node = past->oldest; node <= past->newest; node++) {
        double *row = acks_row(past, node);
        row[stream->column + CUT] = row[other->column + CUT];
        row[stream->column + CUT_INTEGRAL] = row[other->column + CUT_INTEGRAL];
    }
    if (stream->spreads)
        stream->now.grown =
            stream->now.x[0] + (stream->now.cut_integral - integral_then(stream, past, t)) / stream->round_trip;
    acks_row(past, past->newest)[stream->column + SIZE] = stream->now.x[0];
}
