/* What classes send, by windows that hear what leaves the last links of their ways, or at a constant rate. */
#pragma once

#include "fluid/acks/windows.h"

/* The part of a class's flight, or of its constant rate, that is built up at `t` (s). */
static inline double acks_begun(const acks_source *source, double t)
{
    const double since = t - source->start;
    if (since >= source->ramp && since >= 0.0)
        return 1.0;
    return since > 0.0 ? since / source->ramp : 0.0;
}

/* What it does between `t` and `next`, two known instants in a row. */
static inline int acks_phase(const acks_source *source, double t, double next)
{
    const double middle = 0.5 * (t + next);
    if (!(source->start <= middle && middle < source->stop))
        return PAUSES;
    return source->steady                                         ? STEADY
           : source->goes_on || t - source->start >= source->ramp ? RUNS
                                                                  : BUILDS_UP;
}

static inline double acks_sent_steadily(const acks_source *source, double before, const acks_trial *step)
{
    const double share = 0.5 * (acks_begun(source, step->t - step->dt) + acks_begun(source, step->t));
    return before + source->number * source->rate * share * step->dt;
}

static inline double acks_sent_by_window(acks_source *source, double before, const acks_trial *step, double delay)
{
    const acks_window *now = source->window + step->now;
    acks_window *to = source->window + !step->now;
    const acks_place back = step->lags[source->back_ago].place;
    const double acked = acks_at(back, source->passed), heard = acks_at(back, source->signalled);
    double flight = source->number, wanted;
    acks_move_window(source, step, (acked - now->acked) * source->per_flow, (heard - now->heard) * source->per_flow,
                     source->path + delay);
    if (source->phase == BUILDS_UP)
        flight *= acks_begun(source, step->t);
    wanted = acked + flight * to->x[0];
    to->acked = acked;
    to->heard = heard;
    to->silence = before - wanted;
    return wanted > before ? wanted : before;
}

/* What it has sent at the end of a step, whose packets wait for so long (s): into the row there. */
static inline void acks_send(acks_source *source, const acks_trial *step, double delay)
{
    const double before = step->before[source->column + SENT];
    double *row = step->row + source->column, sent = before;
    if (source->phase >= BUILDS_UP)
        sent = acks_sent_by_window(source, before, step, delay);
    else {
        if (source->phase == STEADY)
            sent = acks_sent_steadily(source, before, step);
        acks_hold_window(source, step);
        source->window[!step->now].silence = 0.0;
    }
    row[SENT] = sent;
    row[SIZE] = source->window[!step->now].x[0];
}
