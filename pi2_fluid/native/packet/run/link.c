/* The link: takes packets from the queue and carries them, one after the other; how, hop.h says. */
#include "packet/run/link.h"

#include "packet/core/bits.h"
#include "packet/run/statistics.h"
#include "packet/tcp/published.h"

enum { SOON = 4 }; /* packets that are called for ahead */

/* The packet has left the link. */
static void leave(pi2_run *run, const pi2_packet *packet, int64_t now)
{
    pi2_class *class_ = run->classes + packet->class_;
    const int64_t delay = run->data.pipes[class_->forward].delay;
    class_->bits += 8 * packet->bytes;
    if (delay == 0) {
        pi2_deliver(run, packet, now);
    } else {
        pi2_packet *place = pi2_pipes_put(&run->data, class_->forward, now + delay);
        if (!place) {
            run->no_memory = 1;
            return;
        }
        *place = *packet;
        class_->in_flight++;
    }
}

/* What the arrival of a packet touches of its flow, called for while others are served. */
static void call_for_receiver(const pi2_run *run)
{
    const pi2_hop *hop = &run->hop;
    const pi2_band *band = &hop->queue.band[PI2_C];
    if (band->count > SOON)
        pi2_prefetch(&run->flows[band->ring[(band->head + SOON) & band->mask].flow].expected);
}

/* Takes the next packet from the queue; 0 if there is none. */
static int take(pi2_run *run, pi2_packet *packet, int64_t now)
{
    pi2_hop *hop = &run->hop;
    hop->at_dequeue.index++;
    pi2_backlog_changes(hop, now);
    if (!hop->qdisc->dequeue(hop->discipline, &hop->queue, packet, now, &hop->at_dequeue))
        return 0;
    if (run->crowded)
        call_for_receiver(run);
    pi2_departed(run, packet, now);
    return 1;
}

static int64_t slot_of(const pi2_hop *hop, const pi2_packet *packet)
{
    return packet->bytes == hop->queue.mtu ? hop->slot : pi2_slot_of(hop, packet->bytes);
}

static void serve_wire(pi2_run *run, int64_t now)
{
    pi2_hop *hop = &run->hop;
    hop->busy = pi2_queue_packets(&hop->queue) && take(run, &hop->in_service, now);
    hop->due = hop->busy ? now + slot_of(hop, &hop->in_service) : PI2_NEVER;
}

static void serve_htb(pi2_run *run, int64_t now)
{
    pi2_hop *hop = &run->hop;
    pi2_packet packet;
    hop->due = PI2_NEVER;
    while (pi2_queue_packets(&hop->queue)) {
        int64_t slot;
        if (now < hop->free_from) {
            hop->due = hop->free_from;
            return;
        }
        if (!take(run, &packet, now))
            return;
        slot = slot_of(hop, &packet);
        if (hop->free_from < now - PI2_HTB_SLOTS * hop->slot)
            hop->free_from = now - PI2_HTB_SLOTS * hop->slot;
        hop->free_from += slot;
        leave(run, &packet, now);
    }
}

void pi2_link_send(pi2_run *run, pi2_packet *packet, int64_t now)
{
    pi2_hop *hop = &run->hop;
    pi2_queue_count(&hop->queue, packet, PI2_SENT);
    hop->at_enqueue.index++;
    packet->enqueued = PI2_NOT_QUEUED;
    packet->band = hop->queue.bands == 2 ? pi2_band_of(packet->ecn) : PI2_C;
    pi2_backlog_changes(hop, now);
    if (run->trace)
        pi2_trace_event(run, packet, PI2_TRACE_ENQUEUE, 0, now);
    hop->qdisc->enqueue(hop->discipline, &hop->queue, packet, now, &hop->at_enqueue);
    if (hop->due != PI2_NEVER)
        return; /* it is at work, or waits for the end of a slot */
    if (hop->kind == PI2_LINK_HTB)
        serve_htb(run, now);
    else
        serve_wire(run, now);
}

void pi2_link_act(pi2_run *run, int64_t now)
{
    pi2_hop *hop = &run->hop;
    if (hop->kind == PI2_LINK_HTB) {
        serve_htb(run, now);
        return;
    }
    leave(run, &hop->in_service, now);
    serve_wire(run, now);
}
