/* The packets of one class: sent, left and marked, and what sends them. */
#pragma once

#include "fluid/acks/windows.h"

/* The part of a class's flight, or of its constant rate, that is built up at `t` (s). */
static inline double acks_begun(const acks_stream *stream, double t)
{
    const double since = t - stream->start;
    if (since >= stream->ramp && since >= 0.0)
        return 1.0;
    return since > 0.0 ? since / stream->ramp : 0.0;
}

/* What it does between `t` and `next`, two known instants in a row. */
static inline int acks_phase(const acks_stream *stream, double t, double next)
{
    const double middle = 0.5 * (t + next);
    if (!(stream->start <= middle && middle < stream->stop))
        return PAUSES;
    return stream->steady                                         ? STEADY
           : stream->goes_on || t - stream->start >= stream->ramp ? RUNS
                                                                  : BUILDS_UP;
}

static inline double acks_sent_steadily(const acks_stream *stream, double before, const acks_trial *step)
{
    const double share = 0.5 * (acks_begun(stream, step->t - step->dt) + acks_begun(stream, step->t));
    return before + stream->number * stream->rate * share * stream->kept * step->dt;
}

static inline double acks_sent_by_window(acks_stream *stream, double before, const acks_trial *step, double delay)
{
    const acks_window *now = stream->window + step->now;
    acks_window *to = stream->window + !step->now;
    const acks_place back = step->lags[stream->path_ago].place;
    const double acked = acks_at(back, stream->column + LEFT), heard = acks_at(back, stream->column + BORNE);
    double flight = stream->number, wanted;
    acks_move_window(stream, step, (acked - now->acked) * stream->per_flow, (heard - now->heard) * stream->per_flow,
                     stream->path + delay);
    if (stream->phase == BUILDS_UP)
        flight *= acks_begun(stream, step->t);
    wanted = acked + flight * to->x[0];
    to->acked = acked;
    to->heard = heard;
    to->silence = before - wanted;
    return wanted > before ? wanted : before;
}

/* What it has done at the end of a step, behind a queue delay (s): into the row there. What it has sent in it was
 * signalled with probability `p`. */
static inline void acks_send(acks_stream *stream, const acks_trial *step, double delay, double p)
{
    const double *before = step->before + stream->column;
    double *row = step->row + stream->column, sent = before[SENT];
    if (stream->phase >= BUILDS_UP)
        sent = acks_sent_by_window(stream, sent, step, delay);
    else {
        if (stream->phase == STEADY)
            sent = acks_sent_steadily(stream, sent, step);
        acks_hold_window(stream, step);
        stream->window[!step->now].silence = 0.0;
    }
    row[SENT] = stream->packets = sent;
    row[GIVEN] = before[GIVEN] + p * (sent - before[SENT]);
    row[SIZE] = stream->window[!step->now].x[0];
}

/* Let everything leave that entered until some place; `p` is the signal at the exit, < 0: it is given on arrival. */
static inline void acks_serve(const acks_stream *stream, const acks_trial *step, acks_place entered, double p)
{
    const size_t column = stream->column;
    const double left = acks_at(entered, column + SENT);
    step->row[column + BORNE] = p < 0.0 ? acks_at(entered, column + GIVEN)
                                        : step->before[column + BORNE] + p * (left - step->before[column + LEFT]);
    step->row[column + LEFT] = left;
}
