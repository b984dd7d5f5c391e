/* REM: packets are counted as they arrive, also those that are then lost; once in an interval a price moves by how many
 * came too much and by the queue, and decides with which probability packets are signalled: dropped as they arrive, or
 * marked as they leave where they can be.
 *
 * Sources: Athuraliya, Low, Li, Yin, "REM: Active Queue Management" (IEEE Network, 2001); ns-2, rem.cc; its port to
 * ns-3, where a packet may fill the buffer, the queue in bytes is divided as an integer, and a packet's size does not
 * change its probability. ns-2 reads the capacity once; here it is that of the link now. Where others
 * are marked, ns-2 lets what is Not-ECT pass; here it is dropped.
 */
#include <math.h>
#include <string.h>

#include "packet/controllers/price.h"
#include "packet/controllers/rem.h"
#include "packet/queues/qdisc.h"

/* The parameters: those of the law, and what packets need beside them. */
#define OWN(F) \
    F(packet) /* bytes of the packets that are counted in */ \
    F(bytes)  /* 1: arrivals, queue and buffer are counted in bytes, over `packet` */ \
    F(ecn)    /* 1: packets that can be marked are marked, not dropped */ \
    F(ns3)    /* 1: as in ns-3 where that is not as in ns-2 */
#define FIELDS(F) PI2_REM_FIELDS(F) OWN(F)

typedef struct {
    pi2_rem law;
    OWN(PI2_FIELD)
} given;

typedef struct {
    pi2_rem law;
    double packet;                 /* bytes */
    int64_t interval;              /* ns */
    uint8_t bytes, ecn, ns3;
    double state[PI2_REM_STATES];  /* of the law */
    double probability;            /* of a signal, until the next update */
} rem;

/* Packets */

/* Whether the packet does not fit: the bytes of as many packets as the buffer holds, and no more than these. */
static int overflows(const rem *r, const pi2_queue *queue, const pi2_packet *packet)
{
    const double limit = (double)queue->limit * (r->bytes ? r->packet : 1.0);
    const double length = r->bytes ? (double)(pi2_queue_bytes(queue) + packet->bytes)
                                   : (double)(pi2_queue_packets(queue) + 1);
    return (r->ns3 ? length > limit : length >= limit) || pi2_queue_packets(queue) >= queue->limit;
}

static int drawn(const rem *r, const pi2_packet *packet, pi2_draws *draws)
{
    const double share = r->bytes && !r->ns3 ? packet->bytes / r->packet : 1.0;
    return pi2_unit(pi2_draw(draws, 0)) < r->probability * share;
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    rem *r = qdisc;
    r->state[PI2_REM_COUNT] += r->bytes ? packet->bytes / r->packet : 1.0;
    if (overflows(r, queue, packet))
        pi2_queue_drop(queue, packet, now, PI2_DROP_FULL);
    else if (!pi2_can_be_marked(r->ecn, packet->ecn) && drawn(r, packet, draws))
        pi2_queue_drop(queue, packet, now, PI2_DROP_AQM);
    else
        pi2_queue_push(queue, PI2_C, packet, now);
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    const rem *r = qdisc;
    (void)now;
    if (!queue->band[PI2_C].count)
        return 0;
    pi2_queue_pop(queue, PI2_C, packet);
    if (pi2_can_be_marked(r->ecn, packet->ecn)) {
        draws->index++;
        if (drawn(r, packet, draws))
            pi2_queue_mark(queue, packet, PI2_MARK_AQM);
    }
    return 1;
}

/* The update */

static int64_t tick(void *qdisc, pi2_queue *queue, int64_t now)
{
    rem *r = qdisc;
    const double bytes = (double)pi2_queue_bytes(queue) / r->packet;
    const double length = !r->bytes ? (double)pi2_queue_packets(queue) : r->ns3 ? floor(bytes) : bytes;
    pi2_rem_update(&r->law, r->state, length, queue->capacity / (8.0 * r->packet));
    r->probability = pi2_price_encode(r->law.phi, r->state[PI2_REM_PRICE]);
    return now + r->interval;
}

static int64_t first_tick(const void *qdisc)
{
    return ((const rem *)qdisc)->interval;
}

static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    const rem *r = qdisc;
    (void)queue;
    probe->controller = r->state[PI2_REM_PRICE];
    probe->classic = probe->scalable = r->probability;
}

/* Setting up */

static int sound(const given *x)
{
    const pi2_rem *p = &x->law;
    const int gains = p->gamma > 0.0 && p->gamma < 1e9 && p->alpha > 0.0 && p->alpha < 1e9;
    const int rest = p->phi > 1.0 && p->phi < 1e9 && p->target > 0.0 && p->target < 1e9;
    return gains && rest && p->weight > 0.0 && p->weight <= 1.0 && p->update_interval >= 1e-9
           && p->update_interval < 1e9 && x->packet >= 1e-3 && x->packet < 1e9;
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    rem *r = qdisc;
    const given *x = parameters;
    (void)queue;
    if (!sound(x))
        return 0;
    *r = (rem){.law = x->law, .packet = x->packet, .interval = pi2_ns(x->law.update_interval)};
    r->bytes = x->bytes != 0.0;
    r->ecn = x->ecn != 0.0;
    r->ns3 = x->ns3 != 0.0;
    return 1;
}

const pi2_qdisc pi2_qdisc_rem = {
    .name = "rem",
    .size = sizeof(rem),
    PI2_CONFIGURED_BY(FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .first_tick = first_tick,
    .tick = tick,
    .probe = probe,
};
