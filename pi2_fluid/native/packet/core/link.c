/* The link: takes packets from the queue and carries them, one after the other.
 *
 * wire: a packet enters service when the one before it has left, and reaches the far end when its last bit does.
 * htb:  as under Linux's hierarchical token bucket with a burst of one packet: a packet goes at once, at the start of
 *       its slot, if the link owes nothing, and the next may go when the slot is over; an idle link stores one slot,
 *       so that two packets may pass back to back.
 * Either way the packet in service is not in the backlog, and its delay ends when service begins.
 */
#include "packet/core/bits.h"
#include "packet/tcp/published.h"
#include "packet/core/run.h"

enum { SOON = 4 }; /* packets that are called for ahead */

/* At least 1 ns: a link that takes no time would go on for ever at one instant, if the flows take none either. */
int64_t pi2_slot_of(const pi2_run *run, int bytes)
{
    int64_t slot;
    if (run->scenario.kind == PI2_LINK_HTB && run->htb_factor)
        slot = (int64_t)((uint64_t)bytes * run->htb_factor >> run->htb_shift);
    else
        slot = pi2_ns(8.0 * bytes / run->queue.capacity);
    return slot > 1 ? slot : 1;
}

/* Linux keeps the ns per byte as an integer of 31 or 32 bits and a shift, and truncates. */
static void htb_rate(pi2_run *run)
{
    const double bytes = run->queue.capacity / 8.0;
    const uint64_t rate = bytes >= 1.0 && bytes < 1e15 ? (uint64_t)bytes : 0;
    uint64_t factor = 1000000000;
    run->htb_shift = 0;
    run->htb_factor = 0;
    if (!rate)
        return;
    while (!((run->htb_factor = factor / rate) >> 31) && !(factor >> 63)) {
        factor <<= 1;
        run->htb_shift++;
    }
    if (run->htb_factor >> 40) /* so slow a link that bytes * factor might not fit */
        run->htb_factor = 0;
}

/* The packet in service, or what an htb link owes, takes its remaining bits along to the new rate. */
void pi2_link_capacity(pi2_run *run, double capacity, int64_t now)
{
    const double factor = run->queue.capacity / capacity;
    run->queue.capacity = capacity;
    htb_rate(run);
    run->slot = pi2_slot_of(run, run->scenario.packet_size);
    if (run->busy)
        run->link_due = now + (int64_t)((double)(run->link_due - now) * factor + 0.5);
    if (run->free_from > now) {
        run->free_from = now + (int64_t)((double)(run->free_from - now) * factor + 0.5);
        if (run->link_due != PI2_NEVER)
            run->link_due = run->free_from;
    }
}

void pi2_deliver(pi2_run *run, const pi2_packet *packet, int64_t now)
{
    pi2_queue_count(&run->queue, packet, PI2_DELIVERED);
    if (!(packet->flags & PI2_UNRESPONSIVE))
        pi2_receive(run, packet, now);
}

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
    const pi2_band *band = &run->queue.band[PI2_C];
    if (band->count > SOON)
        pi2_prefetch(&run->flows[band->ring[(band->head + SOON) & band->mask].flow].expected);
}

/* Takes the next packet from the queue; 0 if there is none. */
static int take(pi2_run *run, pi2_packet *packet, int64_t now)
{
    run->at_dequeue.index++;
    pi2_backlog_changes(run, now);
    if (!run->qdisc->dequeue(run->discipline, &run->queue, packet, now, &run->at_dequeue))
        return 0;
    if (run->crowded)
        call_for_receiver(run);
    pi2_departed(run, packet, now);
    return 1;
}

static int64_t slot_of(const pi2_run *run, const pi2_packet *packet)
{
    return packet->bytes == run->scenario.packet_size ? run->slot : pi2_slot_of(run, packet->bytes);
}

static void serve_wire(pi2_run *run, int64_t now)
{
    run->busy = pi2_queue_packets(&run->queue) && take(run, &run->in_service, now);
    run->link_due = run->busy ? now + slot_of(run, &run->in_service) : PI2_NEVER;
}

static void serve_htb(pi2_run *run, int64_t now)
{
    pi2_packet packet;
    run->link_due = PI2_NEVER;
    while (pi2_queue_packets(&run->queue)) {
        int64_t slot;
        if (now < run->free_from) {
            run->link_due = run->free_from;
            return;
        }
        if (!take(run, &packet, now))
            return;
        slot = slot_of(run, &packet);
        if (run->free_from < now - PI2_HTB_SLOTS * run->slot)
            run->free_from = now - PI2_HTB_SLOTS * run->slot;
        run->free_from += slot;
        leave(run, &packet, now);
    }
}

void pi2_link_send(pi2_run *run, pi2_packet *packet, int64_t now)
{
    pi2_queue_count(&run->queue, packet, PI2_SENT);
    run->at_enqueue.index++;
    packet->enqueued = PI2_NOT_QUEUED;
    packet->band = run->queue.bands == 2 ? pi2_band_of(packet->ecn) : PI2_C;
    pi2_backlog_changes(run, now);
    if (run->trace)
        pi2_trace_event(run, packet, PI2_TRACE_ENQUEUE, 0, now);
    run->qdisc->enqueue(run->discipline, &run->queue, packet, now, &run->at_enqueue);
    if (run->link_due != PI2_NEVER)
        return; /* it is at work, or waits for the end of a slot */
    if (run->scenario.kind == PI2_LINK_HTB)
        serve_htb(run, now);
    else
        serve_wire(run, now);
}

void pi2_link_act(pi2_run *run, int64_t now)
{
    if (run->scenario.kind == PI2_LINK_HTB) {
        serve_htb(run, now);
        return;
    }
    leave(run, &run->in_service, now);
    serve_wire(run, now);
}
