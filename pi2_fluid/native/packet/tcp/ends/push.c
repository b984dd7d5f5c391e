/* Which segments carry PSH (RFC 9293, section 3.9.1.2): one of so many, or those of a program on Linux that keeps its
 * socket full. Linux sets it as programs write: on the last segment of a write, and on that with which more than half of
 * the largest window offered was written since it was set last. A write fills the socket, at first all of it, and then
 * each time that a third is free. */
#include "packet/tcp/ends/push.h"

#include "packet/run/scenario.h"
#include "packet/tcp/published.h"

enum { NEVER = 0x7fffffff }; /* segments */

/* Segments that fit into so many bytes of memory. */
static uint32_t fitting(const pi2_socket *s, uint32_t bytes)
{
    return bytes / (s->payload + PI2_SEGMENT_MEMORY);
}

/* The socket has grown with the window (tcp_sndbuf_expand), and is filled. */
static void fill(pi2_flow *f)
{
    pi2_socket *s = &f->socket;
    if (s->room < 2 * f->window.cwnd)
        s->room = 2 * f->window.cwnd;
    s->writes[s->written % PI2_WRITES].last = f->window.una + s->room - 1;
    s->writes[s->written % PI2_WRITES].half = s->half;
    f->refill = f->window.una + s->room - (2 * s->room - 1) / 3; /* the last one does not quite fit */
}

/* Up to the end of the write, or until half of the window is full; from the end of one with the next. */
static void plan(pi2_flow *f)
{
    pi2_socket *s = &f->socket;
    int32_t left = (int32_t)(s->writes[s->sent % PI2_WRITES].last - f->push), half;
    while (left <= 0 && s->sent != s->written)
        left = (int32_t)(s->writes[++s->sent % PI2_WRITES].last - f->push);
    half = (int32_t)s->writes[s->sent % PI2_WRITES].half;
    f->push += (uint32_t)(left > 0 && left < half ? left : half);
}

void pi2_push_begin(pi2_flow *f, int every, int packet_size)
{
    pi2_socket *s = &f->socket;
    *s = (pi2_socket){.payload = packet_size > PI2_ACK_BYTES ? (uint32_t)packet_size - PI2_ACK_BYTES : 1};
    f->push = f->window.next - 1; /* the one before the first */
    f->refill = f->window.una + NEVER;
    if (every > 0) {
        f->push += (uint32_t)every;
    } else if (every == PI2_PUSH_OF_LINUX) {
        s->room = fitting(s, PI2_SEND_BUFFER) + 1;
        s->half = PI2_WINDOW_UNSCALED / 2 / s->payload + 1;
        fill(f);
        plan(f);
    }
}

/* Meanwhile the window offered has grown to the receiver's buffer, and to twice what comes in a round trip. */
void pi2_push_written(pi2_flow *f)
{
    pi2_socket *s = &f->socket;
    const uint32_t buffer = fitting(s, PI2_RECEIVE_BUFFER / 2) + 1, comes = pi2_in_flight(f);
    if (!s->room) {
        f->refill += NEVER;
        return;
    }
    if (s->half < buffer)
        s->half = buffer;
    if (s->half < comes)
        s->half = comes;
    s->written++;
    fill(f);
}

int pi2_push(pi2_flow *f, int every)
{
    if (every == PI2_PUSH_OF_LINUX)
        plan(f);
    else
        f->push += (uint32_t)every;
    return every != 0;
}
