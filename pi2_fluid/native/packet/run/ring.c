/* Rings of devices, and their byte queue limits; see ring.h. */
#include "packet/run/ring.h"

#include <stdlib.h>

static const int64_t HOLD = INT64_C(1000000000); /* ns over which the least slack is looked for */

void pi2_ring_new(pi2_ring *ring, uint32_t most, int by_bytes, int64_t least, int64_t most_bytes)
{
    ring->most = most;
    ring->by_bytes = by_bytes;
    ring->bql = (pi2_bql){.limit = least, .least = least, .most = most_bytes, .slack = INT64_MAX};
}

void pi2_ring_free(pi2_ring *ring)
{
    free(ring->held.ring);
}

void pi2_ring_integrate(pi2_ring *ring, int64_t now)
{
    ring->area += (double)ring->held.bytes * (double)(now - ring->since);
    ring->since = now;
}

int pi2_ring_put(pi2_ring *ring, const pi2_packet *packet, int64_t now)
{
    pi2_ring_integrate(ring, now);
    if (!pi2_band_push(&ring->held, packet, now))
        return 0;
    ring->bytes += packet->bytes;
    ring->bql.fresh += packet->bytes;
    ring->bql.newest = packet->bytes;
    return 1;
}

int pi2_ring_take(pi2_ring *ring, pi2_packet *packet, int64_t now)
{
    if (!ring->held.count)
        return 0;
    pi2_ring_integrate(ring, now);
    pi2_band_pop(&ring->held, packet);
    ring->waited += (double)(now - packet->enqueued);
    ring->entered++;
    return 1;
}

static int64_t above(int64_t a, int64_t b)
{
    return a > b ? a - b : 0;
}

static void begin_slack(pi2_bql *b, int64_t now)
{
    b->slack = INT64_MAX;
    b->slack_since = now;
}

/* The limit is too large by what it exceeds twice what was sent between two reports, or by the part of the newest packet
 * that was no excess. */
static void look_for_slack(pi2_bql *b, int64_t sent, int64_t now)
{
    const int64_t spare = above(b->limit + b->over, 2 * sent), kept = b->over ? above(b->newest_then, b->over) : 0;
    const int64_t slack = spare > kept ? spare : kept;
    if (slack < b->slack)
        b->slack = slack;
    if (now <= b->slack_since + HOLD)
        return;
    b->limit = above(b->limit, b->slack);
    begin_slack(b, now);
}

void pi2_ring_sent(pi2_ring *ring, int64_t bytes, int64_t now)
{
    pi2_bql *b = &ring->bql;
    const int64_t before = b->limit, left = ring->bytes - bytes;
    const int64_t old = ring->bytes - b->fresh; /* of what was there at the report before, and was not sent by it */
    int64_t over = above(ring->bytes, b->limit);
    const int all_old_sent = bytes >= old;
    ring->bytes = left;
    if (!ring->by_bytes)
        return;
    if ((over && !left) || (b->over && all_old_sent)) {
        b->limit += above(bytes, old) + b->over;
        begin_slack(b, now);
    } else if (left && old && !all_old_sent) {
        look_for_slack(b, bytes, now);
    }
    b->limit = b->limit < b->least ? b->least : b->limit > b->most ? b->most : b->limit;
    b->over = b->limit == before ? over : 0;
    b->fresh = 0;
    b->newest_then = b->newest;
}
