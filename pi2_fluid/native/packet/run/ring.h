/* The ring of a device, between the queue and the wire: the queue discipline hands packets to it while it has room, and
 * no longer sees them. What it holds is some packets at most, that in service among them, as a device frees the place of
 * a packet when it is sent; and some bytes, if byte queue limits (BQL) say how many.
 *
 * Byte queue limits, as Linux has behaved since 3.3 (T. Herbert, "bql: Byte Queue Limits", 2011; the rules in
 * docs/packets.md): a packet may enter while no more bytes than the limit are there, so that the last one passes it.
 * Whenever bytes were sent, the limit grows if the device ran dry although more was held back, and falls by what it was
 * too large over a second. Here bytes are reported packet by packet, where devices may report many at once.
 */
#pragma once

#include "packet/queues/queue.h"

typedef struct {
    int64_t limit, least, most; /* bytes */
    int64_t over;               /* by how many the limit was passed at the report before */
    int64_t fresh;              /* bytes that have entered since then */
    int64_t newest;             /* bytes of the packet that entered last, */
    int64_t newest_then;        /* and of that which had at the report before */
    int64_t slack, slack_since; /* the least since then (ns) */
} pi2_bql;

typedef struct {
    pi2_band held;      /* those behind the packet in service */
    uint32_t most;      /* packets, with that in service; 0: there is no ring */
    int64_t bytes;      /* with those in service */
    int by_bytes;       /* byte queue limits are on */
    pi2_bql bql;
    int64_t since;      /* ns up to which the area is integrated */
    double area, waited; /* of this bin: bytes ns behind the one in service; ns, summed over those that entered it */
    int64_t entered;    /* how many these are */
} pi2_ring;

void pi2_ring_new(pi2_ring *ring, uint32_t most, int by_bytes, int64_t least, int64_t most_bytes);
void pi2_ring_free(pi2_ring *ring);
/* The packet of so many bytes was sent. */
void pi2_ring_sent(pi2_ring *ring, int64_t bytes, int64_t now);
/* Behind all others; 0 if there is no memory. */
int pi2_ring_put(pi2_ring *ring, const pi2_packet *packet, int64_t now);
/* The next one enters service; 0 if there is none. */
int pi2_ring_take(pi2_ring *ring, pi2_packet *packet, int64_t now);
/* Up to `now`. */
void pi2_ring_integrate(pi2_ring *ring, int64_t now);

/* `busy`: a packet is in service. */
static inline int pi2_ring_has_room(const pi2_ring *ring, int busy)
{
    return ring->held.count + (uint32_t)busy < ring->most && (!ring->by_bytes || ring->bytes <= ring->bql.limit);
}
