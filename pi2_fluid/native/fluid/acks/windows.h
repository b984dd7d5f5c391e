/* A window that moves with acknowledgements: its law's growth, and its cuts as they are obeyed.
 *
 * What every step does is inline, here and in sources.h, passages.h and links.h: a step is a hundred operations or two.
 */
#pragma once

#include "fluid/acks/run.h"

#define LEAST 0.01 /* segments, at which a window is held that its law would carry below */

/* The integral of the cuts until an instant; it is quadratic where they are linear. */
static inline double acks_integral_until(const acks_source *source, acks_place then)
{
    const double since = then.part * (then.to[TIME] - then.from[TIME]);
    const size_t cut = source->column + CUT;
    return then.from[source->column + CUT_INTEGRAL] + 0.5 * since * (then.from[cut] + acks_at(then, cut));
}

/* The law's change of every state per second, and the cut apart from it. */
static inline double acks_change_of(const acks_source *source, int plain, const double *x, double acks, double marks,
                                    double rtt, double *change)
{
    const pi2_plain_window *law = &source->law->plain;
    if (plain) {
        *change = acks / x[0];
        return (law->decrease * x[0] + law->per_mark) * marks;
    }
    return source->law->acked(source->parameters, x, acks, marks, rtt, change);
}

/* By the midpoint rule, whose middle is where the last step leads to. */
static inline void acks_follow_law(const acks_source *source, int plain, const acks_trial *step, double acks,
                                   double marks, double rtt, acks_window *to)
{
    const acks_window *now = source->window + step->now;
    const int n = plain ? 1 : source->states;
    double middle[PI2_SENDER_STATES], change[PI2_SENDER_STATES], fallen, grown, size;
    for (int j = 0; j < n; j++)
        middle[j] = now->x[j] + 0.5 * step->dt * now->speed[j];
    if (middle[0] < LEAST)
        middle[0] = LEAST;
    fallen = acks_change_of(source, plain, middle, acks, marks, rtt, change) * step->dt;
    for (int j = 1; j < n; j++) {
        to->x[j] = now->x[j] + change[j] * step->dt;
        to->speed[j] = change[j];
    }
    grown = now->grown + change[0] * step->dt;
    if (source->spreads) {
        const double *before = step->before + source->column;
        double *row = step->row + source->column;
        const double then = acks_integral_until(source, step->lags[source->round_trip_ago].place);
        const double cut = before[CUT] + fallen;
        const double integral = before[CUT_INTEGRAL] + 0.5 * step->dt * (before[CUT] + cut);
        row[CUT] = cut;
        row[CUT_INTEGRAL] = integral;
        size = grown - (integral - then) * source->per_round_trip;
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
    to->speed[0] = (size - now->x[0]) * step->per_second;
}

/* Nothing is cut while a window is held, but the time goes on over which cuts are obeyed. */
static inline void acks_hold_window(acks_source *source, const acks_trial *step)
{
    const double *before = step->before + source->column;
    double *row = step->row + source->column;
    source->window[!step->now] = source->window[step->now];
    row[CUT] = before[CUT];
    row[CUT_INTEGRAL] = before[CUT_INTEGRAL] + step->dt * before[CUT];
}

/* What the window of a source is after a step; `acks` and `marks` of one flow. */
static inline void acks_move_window(acks_source *source, const acks_trial *step, double acks, double marks, double rtt)
{
    acks_window *to = source->window + !step->now;
    if (source->slow) {
        acks_hold_window(source, step);
        to->x[0] += acks;
        to->grown += acks;
        to->expected += marks;
        return;
    }
    acks *= step->per_second;
    marks *= step->per_second;
    if (source->plain)
        acks_follow_law(source, 1, step, acks, marks, rtt, to);
    else
        acks_follow_law(source, 0, step, acks, marks, rtt, to);
}

void acks_leave_slow_start(pi2_acks *run, acks_source *source);
/* Begin as another class's window is now, reductions under way included. */
void acks_copy_window(pi2_acks *run, acks_source *source, const acks_source *other);
