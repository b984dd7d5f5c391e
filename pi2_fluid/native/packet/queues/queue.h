/* The queue itself: one or two first-in-first-out bands of packets, their bytes, and what was counted. Every queue
 * discipline works on this one; it decides, this only holds. */
#pragma once

#include <stddef.h>

#include "packet/core/packet.h"

typedef struct {
    pi2_packet *ring; /* of mask + 1 packets, a power of two */
    uint32_t mask, head, count;
    int64_t bytes;
} pi2_band;

enum { PI2_C, PI2_L }; /* the bands of a dual queue; others use PI2_C alone */

typedef struct {
    pi2_band band[2];
    int bands;           /* how many of them are in use */
    int64_t limit;       /* packets, both bands together */
    int64_t mtu;         /* bytes of a full packet */
    int64_t beside;      /* bytes that wait in other queues of the same link, where flows have queues of their own */
    double capacity;     /* bit/s at which the link serves now */
    uint64_t key;        /* of the random numbers that are drawn once, such as the hash of flows */
    int *no_memory;      /* set when a packet did not fit into memory: the run must end; may be NULL */
    int64_t *counts;     /* PI2_CAUSES of each class at each link, by leg */
    /* told of each loss and of each mark; may be NULL */
    void (*dropped)(void *context, const pi2_packet *packet, int64_t now, int cause);
    void (*marked)(void *context, const pi2_packet *packet, int cause);
    void *context;
} pi2_queue;

/* The band of a packet in a dual queue: ECT(1) and CE, which has both bits, go through L (RFC 9331, section 5.1). */
static inline uint8_t pi2_band_of(uint8_t ecn)
{
    return ecn & PI2_ECT1 ? PI2_L : PI2_C;
}

static inline int64_t pi2_queue_packets(const pi2_queue *queue)
{
    return (int64_t)queue->band[PI2_C].count + queue->band[PI2_L].count;
}

static inline int64_t pi2_queue_bytes(const pi2_queue *queue)
{
    return queue->band[PI2_C].bytes + queue->band[PI2_L].bytes;
}

/* The packet at the head; the band must not be empty. */
static inline const pi2_packet *pi2_band_head(const pi2_band *band)
{
    return band->ring + (band->head & band->mask);
}

/* ns that the head packet has waited, 0 if there is none. */
static inline int64_t pi2_band_age(const pi2_band *band, int64_t now)
{
    return band->count ? now - pi2_band_head(band)->enqueued : 0;
}

static inline void pi2_queue_count(pi2_queue *queue, const pi2_packet *packet, int cause)
{
    queue->counts[(size_t)packet->leg * PI2_CAUSES + (size_t)cause]++;
}

/* Makes room for twice as many, or the first room of a band that is all 0; 0 if there is no memory (in queue.c). */
int pi2_band_grow(pi2_band *band);

/* Appends the packet, stamped with `now`; 0 if there is no memory. */
static inline int pi2_band_push(pi2_band *band, const pi2_packet *packet, int64_t now)
{
    pi2_packet *place;
    if (band->count > band->mask && !pi2_band_grow(band))
        return 0;
    place = band->ring + ((band->head + band->count) & band->mask);
    *place = *packet;
    place->enqueued = now;
    band->count++;
    band->bytes += packet->bytes;
    return 1;
}

/* Takes the head packet; the band must not be empty. */
static inline void pi2_band_pop(pi2_band *band, pi2_packet *packet)
{
    *packet = band->ring[band->head++ & band->mask];
    band->count--;
    band->bytes -= packet->bytes;
}

static inline void pi2_queue_push(pi2_queue *queue, int band, const pi2_packet *packet, int64_t now)
{
    if (!pi2_band_push(&queue->band[band], packet, now) && queue->no_memory)
        *queue->no_memory = 1;
}

static inline void pi2_queue_pop(pi2_queue *queue, int band, pi2_packet *packet)
{
    pi2_band_pop(&queue->band[band], packet);
}

/* The packet is lost: counts it and tells whoever listens. */
static inline void pi2_queue_drop(pi2_queue *queue, const pi2_packet *packet, int64_t now, int cause)
{
    pi2_queue_count(queue, packet, cause);
    if (queue->dropped)
        queue->dropped(queue->context, packet, now, cause);
}

/* The packet gets a congestion mark: sets CE, counts, and tells whoever listens. */
static inline void pi2_queue_mark(pi2_queue *queue, pi2_packet *packet, int cause)
{
    packet->ecn = PI2_CE;
    pi2_queue_count(queue, packet, cause);
    if (queue->marked)
        queue->marked(queue->context, packet, cause);
}
