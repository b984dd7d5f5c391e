#include "fluid/acks/streams.h"

#include "fluid/acks/windows.h"

double acks_begun(const acks_stream *stream, double t)
{
    const double since = t - stream->start;
    if ((stream->goes_on && !stream->steady) || (since >= stream->ramp && since >= 0.0))
        return 1.0;
    return since > 0.0 ? since / stream->ramp : 0.0;
}

static void send_steadily(acks_stream *stream, double before, int sends, acks_time step)
{
    const double share = 0.5 * (acks_begun(stream, step.t - step.dt) + acks_begun(stream, step.t));
    stream->sent.packets =
        before + (sends ? stream->number * stream->rate * share * stream->kept * step.dt : 0.0);
}

void acks_send(acks_stream *stream, const acks_past *past, acks_time step, double delay)
{
    const double middle = step.t - 0.5 * step.dt, before = acks_row(past, past->newest)[stream->column + SENT];
    const int sends = stream->start <= middle && middle < stream->stop;
    acks_sent *sent = &stream->sent;
    acks_place back;
    double wanted;
    sent->sends = sends && !stream->steady;
    if (stream->steady) {
        send_steadily(stream, before, sends, step);
        return;
    }
    if (!sends) {
        sent->packets = before;
        sent->silence = 0.0;
        return;
    }
    back = acks_find(past, &stream->ago, TIME, step.t - stream->path);
    sent->acked = acks_at(back, stream->column + LEFT);
    sent->heard = acks_at(back, stream->column + BORNE);
    acks_move_window(stream, past, step, (sent->acked - stream->acked) * stream->per_flow,
                     (sent->heard - stream->heard) * stream->per_flow, stream->path + delay);
    wanted = sent->acked + stream->number * acks_begun(stream, step.t) * stream->then->x[0];
    sent->packets = wanted > before ? wanted : before;
    sent->silence = before - wanted;
}

/* Nothing is cut while a window is held, but the time goes on over which cuts are obeyed. */
static void keep_window(acks_stream *stream, double dt)
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

void acks_keep_sent(acks_stream *stream, acks_past *past, acks_time step, double p)
{
    const double *before = acks_row(past, past->newest - 1) + stream->column;
    double *row = acks_row(past, past->newest) + stream->column;
    row[GIVEN] = before[GIVEN] + p * (stream->sent.packets - before[SENT]);
    row[SENT] = stream->sent.packets;
    row[SIZE] = 0.0;
    if (stream->steady)
        return;
    keep_window(stream, step.dt);
    row[CUT] = stream->now->cut;
    row[CUT_INTEGRAL] = stream->now->cut_integral;
    row[SIZE] = stream->now->x[0];
}

void acks_serve(acks_stream *stream, acks_past *past, acks_place entered, double p)
{
    const double *before = acks_row(past, past->newest - 1) + stream->column;
    double *row = acks_row(past, past->newest) + stream->column;
    const double left = acks_at(entered, stream->column + SENT);
    row[BORNE] = p < 0.0 ? acks_at(entered, stream->column + GIVEN) : before[BORNE] + p * (left - before[LEFT]);
    row[LEFT] = left;
}
