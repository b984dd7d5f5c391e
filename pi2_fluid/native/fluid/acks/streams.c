#include "fluid/acks/streams.h"

#include "fluid/acks/windows.h"

double acks_begun(const acks_stream *stream, double t)
{
    const double since = t - stream->start;
    if ((stream->goes_on && !stream->steady) || (since >= stream->ramp && since >= 0.0))
        return 1.0;
    return since > 0.0 ? since / stream->ramp : 0.0;
}

static void send_steadily(acks_stream *stream, double before, int sends, double t, double dt)
{
    const double share = 0.5 * (acks_begun(stream, t - dt) + acks_begun(stream, t));
    stream->sent.packets =
        before + (sends ? stream->number * stream->rate * share * stream->kept * dt : 0.0);
}

/* Between two steps nothing is cut, but the time goes on over which cuts are obeyed. */
static void rest(acks_stream *stream, double dt)
{
    stream->sent.moved = stream->now;
    stream->sent.moved.cut_integral = stream->now.cut_integral + dt * stream->now.cut;
}

void acks_send(acks_stream *stream, const acks_past *past, double t, double dt, double delay)
{
    const double middle = t - 0.5 * dt, before = acks_row(past, past->newest)[stream->column + SENT];
    const int sends = stream->start <= middle && middle < stream->stop;
    acks_sent *sent = &stream->sent;
    acks_place back;
    double wanted;
    if (stream->steady) {
        send_steadily(stream, before, sends, t, dt);
        return;
    }
    back = acks_find(past, &stream->ago, TIME, t - stream->path);
    sent->acked = acks_at(back, stream->column + LEFT);
    sent->heard = acks_at(back, stream->column + BORNE);
    if (!sends) {
        sent->packets = before;
        sent->silence = 0.0;
        rest(stream, dt);
        return;
    }
    acks_move_window(stream, past, t, dt, (sent->acked - stream->acked) / stream->number,
                     (sent->heard - stream->heard) / stream->number, stream->path + delay, &sent->moved);
    wanted = sent->acked + stream->number * acks_begun(stream, t) * sent->moved.x[0];
    sent->packets = wanted > before ? wanted : before;
    sent->silence = before - wanted;
}

void acks_keep_sent(acks_stream *stream, acks_past *past, double p)
{
    const double *before = acks_row(past, past->newest - 1) + stream->column;
    double *row = acks_row(past, past->newest) + stream->column;
    row[GIVEN] = before[GIVEN] + p * (stream->sent.packets - before[SENT]);
    row[SENT] = stream->sent.packets;
    row[SIZE] = 0.0;
    if (stream->steady)
        return;
    stream->acked = stream->sent.acked;
    stream->heard = stream->sent.heard;
    stream->silence = stream->sent.silence;
    stream->now = stream->sent.moved;
    row[CUT] = stream->now.cut;
    row[CUT_INTEGRAL] = stream->now.cut_integral;
    row[SIZE] = stream->now.x[0];
}

void acks_serve(acks_stream *stream, acks_past *past, acks_place entered, double p)
{
    const double *before = acks_row(past, past->newest - 1) + stream->column;
    double *row = acks_row(past, past->newest) + stream->column;
    const double left = acks_at(entered, stream->column + SENT);
    row[BORNE] = p < 0.0 ? acks_at(entered, stream->column + GIVEN) : before[BORNE] + p * (left - before[LEFT]);
    row[LEFT] = left;
}
