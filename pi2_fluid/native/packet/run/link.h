/* Through the hop of a run: from the sender into the queue, and through the link to the far end. */
#pragma once

#include "packet/run/run.h"

/* A packet reaches the queue. */
void pi2_link_send(pi2_run *run, pi2_packet *packet, int64_t now);
/* The link acts by itself, when the hop is due. */
void pi2_link_act(pi2_run *run, int64_t now);

/* What the receiver makes of a packet. Given by tcp/ends/receiver.c, which is above what is known here: without delay a
 * packet that leaves the link is received, acknowledged perhaps and answered by another at the same instant. */
void pi2_receive(pi2_run *run, const pi2_packet *packet, int64_t now);

/* The packet reaches the far end. */
static inline void pi2_deliver(pi2_run *run, const pi2_packet *packet, int64_t now)
{
    pi2_queue_count(&run->hop.queue, packet, PI2_DELIVERED);
    if (!(packet->flags & PI2_UNRESPONSIVE))
        pi2_receive(run, packet, now);
}
