/* The packets of one class: sent, left and marked, and what sends them. */
#pragma once

#include "fluid/acks/windows.h"

/* The part of a class's flight, or of its constant rate, that is built up at `t` (s). */
static inline double acks_begun(const acks_stream *stream, double t)
{
    const double since = t - stream->start;
    if ((stream->goes_on && !stream->steady) || (since >= stream->ramp && since >= 0.0))
        return 1.0;
    return since > 0.0 ? since / stream->ramp : 0.0;
}

static inline void acks_send_steadily(acks_stream *stream, double before, int sends, acks_time step)
{
    const double share = 0.5 * (acks_begun(stream, step.t - step.dt) + acks_begun(stream, step.t));
    stream->sent.packets =
        before + (sends ? stream->number * stream->rate * share * stream->kept * step.dt : 0.0);
}

/* What it has sent at the end of a step, behind a queue delay (s): into stream->sent. */
static inline void acks_send(acks_stream *stream, const acks_lag *lags, const double *row, acks_time step, double delay)
{
    const double middle = step.t - 0.5 * step.dt, before = row[stream->column + SENT];
    const int sends = stream->start <= middle && middle < stream->stop;
    acks_sent *sent = &stream->sent;
    acks_place back;
    double wanted;
    sent->sends = sends && !stream->steady;
    if (stream->steady) {
        acks_send_steadily(stream, before, sends, step);
        return;
    }
    if (!sends) {
        sent->packets = before;
        sent->silence = 0.0;
        return;
    }
    back = lags[stream->path_ago].place;
    sent->acked = acks_at(back, stream->column + LEFT);
    sent->heard = acks_at(back, stream->column + BORNE);
    acks_move_window(stream, lags, step, (sent->acked - stream->acked) * stream->per_flow,
                     (sent->heard - stream->heard) * stream->per_flow, stream->path + delay);
    wanted = sent->acked + stream->number * acks_begun(stream, step.t) * stream->then->x[0];
    sent->packets = wanted > before ? wanted : before;
    sent->silence = before - wanted;
}

/* Nothing is cut while a window is held, but the time goes on over which cuts are obeyed. */
static inline void acks_keep_window(acks_stream *stream, double dt)
{
    acks_moved *before = stream->now;
    stream->silence = stream->sent.silence;
    if (!stream->sent.sends) {
        before->cut_integral += dt * before->cut;
        return;
    }
    stream->acked = stream->sent.acked;
    stream->heard = stream->sent.heard;
    stream->now = stream->then;
    stream->then = before;
}

/* Take that step for good, from row to row of the past; what has been sent in it was signalled with probability `p`. */
static inline void acks_keep_sent(acks_stream *stream, const double *before, double *row, acks_time step, double p)
{
    const double packets = stream->sent.packets;
    before += stream->column;
    row += stream->column;
    row[GIVEN] = before[GIVEN] + p * (packets - before[SENT]);
    row[SENT] = packets;
    if (stream->steady) {
        row[SIZE] = 0.0;
        return;
    }
    acks_keep_window(stream, step.dt);
    row[CUT] = stream->now->cut;
    row[CUT_INTEGRAL] = stream->now->cut_integral;
    row[SIZE] = stream->now->x[0];
}

/* Let everything leave that entered until some place; `p` is the signal at the exit, < 0: it is given on arrival. */
static inline void acks_serve(const acks_stream *stream, const double *before, double *row, acks_place entered,
                              double p)
{
    const size_t column = stream->column;
    const double left = acks_at(entered, column + SENT);
    row[column + BORNE] = p < 0.0 ? acks_at(entered, column + GIVEN)
                                  : before[column + BORNE] + p * (left - before[column + LEFT]);
    row[column + LEFT] = left;
}
