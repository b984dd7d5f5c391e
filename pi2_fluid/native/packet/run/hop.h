/* A hop: a queue, its discipline, and the link that takes packets from it. It knows neither flows nor the run, nor
 * other hops.
 *
 * wire: a packet enters service when the one before it has left, and reaches the far end when its last bit does.
 * htb:  as under Linux's hierarchical token bucket with a burst of one packet: a packet goes at once, at the start of
 *       its slot, if the link owes nothing, and the next may go when the slot is over; an idle link stores one slot,
 *       so that two packets may pass back to back.
 * Either way the packet in service is not in the backlog, and its delay ends when service begins; where a wire has a ring
 * of packets before it, the delay of the queue ends in the ring, whose own delay ends when service begins.
 *
 * At capacity 0 the link stands still: the packet in service stays there with what is left of it, and a token bucket
 * neither fills nor is paid. What a discipline knows of the rate stays what it was.
 */
#pragma once

#include "packet/core/time.h"
#include "packet/queues/qdisc.h"
#include "packet/run/ring.h"
#include "packet/run/scenario.h"

/* Packets that are sent as one, and reach the far end together, as those of a Wi-Fi frame (A-MPDU) do. */
typedef struct {
    pi2_packet *packets;
    uint32_t count, room;
    uint32_t most;
    int64_t longest; /* ns: another is taken as long as a full packet fits */
} pi2_aggregate;

/* Whether packets are lost behind the link: a chain of two states (Gilbert, 1960), in one of which all are. */
typedef struct {
    double after_loss, after_arrival; /* probabilities that the next is lost */
    int lost;                         /* the one before was */
    uint64_t key, index;
} pi2_losses;

enum { PI2_LINK_TOGETHER = PI2_LINK_HTB + 1, PI2_LINK_RING };

typedef struct {
    uint32_t number;
    /* the queue */
    pi2_queue queue;
    const pi2_qdisc *qdisc;
    void *discipline;       /* its state */
    pi2_draws at_enqueue, at_dequeue;
    int64_t tick;           /* ns: when its controller acts next */
    double *pushes;         /* before each of its ticks; NULL: none */
    size_t push_count, push; /* how many, and which is next */

    /* the link */
    int kind;               /* PI2_LINK_WIRE, PI2_LINK_HTB or, a wire that sends several as one, PI2_LINK_TOGETHER, or
                             * has a ring, PI2_LINK_RING */
    int loses;              /* some packets */
    int busy;               /* wire: a packet is in service */
    pi2_packet in_service;
    int64_t due;            /* ns: when it acts next by itself */
    int64_t free_from;      /* htb: ns from which it may send */
    int64_t slot;           /* ns of a full packet */
    uint64_t htb_factor;    /* ns of a byte, times 2^htb_shift */
    unsigned htb_shift;

    /* statistics of this bin */
    int64_t backlog_since;  /* ns up to which the areas are integrated */
    double area[2], square[2]; /* of each band: bytes ns, bytes^2 ns */

    /* what few links do, behind what all need */
    pi2_aggregate together; /* in service, if it sends several as one */
    pi2_losses losses;
    pi2_ring ring;
    int64_t out_from;       /* ns from which it serves nothing; PI2_NEVER: it serves */
    int64_t due_before;     /* ns: when it would have acted next, were it not for that */
} pi2_hop;

/* Of a hop that is all 0. `counts`: PI2_CAUSES of each leg. Returns 0 if there is no memory, or the discipline refuses
 * its parameters (then `*refused` is 1). */
int pi2_hop_new(pi2_hop *hop, const pi2_packet_scenario *scenario, uint32_t number, int64_t *counts, int *refused);
void pi2_hop_free(pi2_hop *hop);
/* Draws whether the packet that leaves the link is lost. */
int pi2_hop_loses(pi2_hop *hop);
/* Its controller acts. */
void pi2_hop_tick(pi2_hop *hop, int64_t now);
/* bit/s from `now` on; 0: it serves nothing until another capacity comes. */
void pi2_hop_capacity(pi2_hop *hop, double capacity, int64_t now);

/* ns that so many bytes take, at least 1: a link that takes no time would go on for ever at one instant, if the flows
 * take none either. */
static inline int64_t pi2_slot_of(const pi2_hop *hop, int bytes)
{
    int64_t slot;
    if (hop->kind == PI2_LINK_HTB && hop->htb_factor)
        slot = (int64_t)((uint64_t)bytes * hop->htb_factor >> hop->htb_shift);
    else
        slot = pi2_ns(8.0 * bytes / hop->queue.capacity);
    return slot > 1 ? slot : 1;
}

/* Before the backlog changes. */
static inline void pi2_backlog_changes(pi2_hop *hop, int64_t now)
{
    const double time = (double)(now - hop->backlog_since);
    if (now == hop->backlog_since)
        return;
    for (int band = 0; band < hop->queue.bands; band++) {
        const double bytes = (double)hop->queue.band[band].bytes;
        hop->area[band] += bytes * time;
        hop->square[band] += bytes * bytes * time;
    }
    hop->backlog_since = now;
}
