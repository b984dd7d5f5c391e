/* The memory of a queue's bands; see queue.h. */
#include "packet/queues/queue.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 64 }; /* packets that a band begins with room for */

_Static_assert(sizeof(pi2_packet) == 32, "two packets are in a line of memory");

int pi2_band_grow(pi2_band *band)
{
    const size_t room = band->ring ? (size_t)band->mask + 1 : 0, more = room ? 2 * room : FIRST;
    const size_t head = room ? band->head & band->mask : 0;
    pi2_packet *ring;
    if (more > UINT32_MAX / 2)
        return 0;
    ring = realloc(band->ring, more * sizeof *ring);
    if (!ring)
        return 0;
    /* what had wrapped around to the beginning now follows what lies at the old end */
    if (head)
        memcpy(ring + room, ring, head * sizeof *ring);
    band->ring = ring;
    band->mask = (uint32_t)(more - 1);
    band->head = (uint32_t)head;
    return 1;
}
