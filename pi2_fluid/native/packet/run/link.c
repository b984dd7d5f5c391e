/* Links: each takes packets from its queue and carries them, one after the other; how, hop.h says. */
#include "packet/run/link.h"

#include <stdlib.h>

#include "packet/core/bits.h"
#include "packet/run/statistics.h"
#include "packet/tcp/published.h"

/* Packets that are called for ahead; room for acknowledgements that cross links, at first. */
enum { SOON = 4, FIRST_RETURNING = 64, FIRST_TOGETHER = 16 };

/* Acknowledgements */

pi2_ack *pi2_link_homeward(pi2_run *run, const pi2_class *class_, int64_t now)
{
    pi2_lateness *late = class_->late;
    int64_t due = now + run->acks.pipes[class_->back].delay;
    pi2_ack *ack;
    if (late->below)
        due += (int64_t)pi2_random_below(late->key, late->index++, late->below);
    ack = pi2_pipes_put(&run->acks, class_->back, due);
    if (!ack)
        run->no_memory = 1;
    return ack;
}

uint32_t pi2_link_keep_ack(pi2_run *run)
{
    const uint32_t number = run->returning_free, room = run->returning_room;
    const uint32_t more = room ? 2 * room : FIRST_RETURNING;
    pi2_ack *acks;
    if (number != room) {
        run->returning_free = run->returning[number].flow;
        return number;
    }
    acks = more > room ? realloc(run->returning, more * sizeof *acks) : NULL;
    if (!acks) {
        run->no_memory = 1;
        return UINT32_MAX;
    }
    for (uint32_t i = room; i < more; i++)
        acks[i].flow = i + 1;
    run->returning = acks;
    run->returning_room = more;
    run->returning_free = number + 1;
    return number;
}

void pi2_link_forget_ack(pi2_run *run, uint32_t number)
{
    run->returning[number].flow = run->returning_free;
    run->returning_free = number;
}

void pi2_link_return(pi2_run *run, const pi2_class *class_, uint32_t number, int64_t now)
{
    pi2_packet packet = {.sent = now, .segment = number, .flow = run->returning[number].flow, .leg = class_->back_leg,
                         .bytes = PI2_ACK_BYTES, .flags = PI2_RETURNING};
    if (packet.bytes > run->scenario.packet_size)
        packet.bytes = (uint16_t)run->scenario.packet_size;
    if (class_->back_access == PI2_NO_PIPE)
        pi2_link_enter(run, run->legs[packet.leg].hop, &packet, now);
    else
        pi2_link_travel(run, &packet, class_->back_access, packet.leg, 1, now);
}

/* It is past the last link. */
static PI2_APART void come_back(pi2_run *run, const pi2_packet *packet, int64_t now)
{
    pi2_ack *ack = pi2_link_homeward(run, pi2_class_of(run, run->flows + packet->flow), now);
    if (ack)
        *ack = run->returning[packet->segment];
    pi2_link_forget_ack(run, packet->segment);
}

/* The packet reaches the far end. */
static void deliver(pi2_run *run, const pi2_packet *packet, int64_t now)
{
    run->counts[(size_t)packet->leg * PI2_CAUSES + PI2_DELIVERED]++;
    if (packet->flags & PI2_RETURNING)
        come_back(run, packet, now);
    else if (!(packet->flags & PI2_UNRESPONSIVE))
        pi2_receive(run, packet, now);
}

PI2_APART void pi2_link_travel(pi2_run *run, const pi2_packet *packet, uint32_t pipe, uint32_t leg, unsigned onward,
                               int64_t now)
{
    pi2_packet *place = pi2_pipes_put(&run->data, pipe, now + run->data.pipes[pipe].delay);
    if (!place) {
        run->no_memory = 1;
        return;
    }
    *place = *packet;
    place->leg = leg;
    place->onward = onward;
}

static PI2_APART void lose(pi2_run *run, const pi2_packet *packet, int64_t now)
{
    run->counts[(size_t)packet->leg * PI2_CAUSES + PI2_LOST_BEHIND]++;
    if (run->trace)
        pi2_trace_event(run, packet, PI2_TRACE_LOST, PI2_LOST_BEHIND, now);
    if (packet->flags & PI2_RETURNING)
        pi2_link_forget_ack(run, packet->segment);
}

/* The packet has left the link. To the next one it goes through a pipe even if there is no way between the two: a
 * chain of links would call one another to any depth. */
static inline void leave(pi2_run *run, pi2_hop *hop, const pi2_packet *packet, int64_t now)
{
    pi2_leg *leg = run->legs + packet->leg;
    leg->bits += 8 * packet->bytes;
    if (hop->loses && pi2_hop_loses(hop)) {
        lose(run, packet, now);
        return;
    }
    if (leg->at_end) {
        deliver(run, packet, now);
        return;
    }
    leg->in_flight++;
    pi2_link_travel(run, packet, leg->pipe, packet->leg + !leg->last, !leg->last, now);
}

/* What the arrival of a packet touches of its flow, called for while others are served. */
static void call_for_receiver(const pi2_run *run, const pi2_hop *hop)
{
    const pi2_band *band = &hop->queue.band[PI2_C];
    if (!hop->qdisc->waiting && band->count > SOON)
        pi2_prefetch(&run->flows[band->ring[(band->head + SOON) & band->mask].flow].expected);
}

/* Takes the next packet from the queue; 0 if there is none. */
static int take(pi2_run *run, pi2_hop *hop, pi2_packet *packet, int64_t now)
{
    hop->at_dequeue.index++;
    pi2_backlog_changes(hop, now);
    if (!hop->qdisc->dequeue(hop->discipline, &hop->queue, packet, now, &hop->at_dequeue))
        return 0;
    if (run->crowded)
        call_for_receiver(run, hop);
    pi2_departed(run, packet, now);
    return 1;
}

static int64_t slot_of(const pi2_hop *hop, const pi2_packet *packet)
{
    return packet->bytes == hop->queue.mtu ? hop->slot : pi2_slot_of(hop, packet->bytes);
}

/* When the link acts next by itself. */
static void set_due(pi2_run *run, pi2_hop *hop, int64_t due)
{
    hop->due = due;
    pi2_winners_set(&run->links, hop->number, due);
}

static void serve_wire(pi2_run *run, pi2_hop *hop, int64_t now)
{
    hop->busy = pi2_queue_packets(&hop->queue) && take(run, hop, &hop->in_service, now);
    set_due(run, hop, hop->busy ? now + slot_of(hop, &hop->in_service) : PI2_NEVER);
}

static void serve_htb(pi2_run *run, pi2_hop *hop, int64_t now)
{
    pi2_packet packet;
    int64_t due = PI2_NEVER;
    while (pi2_queue_packets(&hop->queue)) {
        int64_t slot;
        if (now < hop->free_from) {
            due = hop->free_from;
            break;
        }
        if (!take(run, hop, &packet, now))
            break;
        slot = slot_of(hop, &packet);
        if (hop->free_from < now - PI2_HTB_SLOTS * hop->slot)
            hop->free_from = now - PI2_HTB_SLOTS * hop->slot;
        hop->free_from += slot;
        leave(run, hop, &packet, now);
    }
    set_due(run, hop, due);
}

/* Room for another packet of an aggregate; NULL: no memory. */
static pi2_packet *next_together(pi2_run *run, pi2_aggregate *a)
{
    if (a->count == a->room) {
        const uint32_t room = a->room ? 2 * a->room : FIRST_TOGETHER;
        pi2_packet *more = realloc(a->packets, room * sizeof *more);
        if (!more) {
            run->no_memory = 1;
            return NULL;
        }
        a->packets = more;
        a->room = room;
    }
    return a->packets + a->count;
}

static PI2_APART void serve_together(pi2_run *run, pi2_hop *hop, int64_t now)
{
    pi2_aggregate *a = &hop->together;
    int64_t time = 0;
    for (a->count = 0; a->count < a->most && pi2_queue_packets(&hop->queue); a->count++) {
        pi2_packet *packet = next_together(run, a);
        if ((a->count && time + hop->slot > a->longest) || !packet || !take(run, hop, packet, now))
            break;
        time += slot_of(hop, packet);
    }
    hop->busy = a->count > 0;
    set_due(run, hop, hop->busy ? now + time : PI2_NEVER);
}

static PI2_APART void leave_together(pi2_run *run, pi2_hop *hop, int64_t now)
{
    for (uint32_t i = 0; i < hop->together.count; i++)
        leave(run, hop, hop->together.packets + i, now);
}

/* From the queue into the ring, while that has room. */
static PI2_APART void fill_ring(pi2_run *run, pi2_hop *hop, int64_t now)
{
    pi2_packet packet;
    while (pi2_queue_packets(&hop->queue) && pi2_ring_has_room(&hop->ring, hop->busy)
           && take(run, hop, &packet, now))
        if (!pi2_ring_put(&hop->ring, &packet, now)) {
            run->no_memory = 1;
            return;
        }
}

static PI2_APART void serve_ring(pi2_run *run, pi2_hop *hop, int64_t now)
{
    hop->busy = 0;
    fill_ring(run, hop, now);
    hop->busy = pi2_ring_take(&hop->ring, &hop->in_service, now);
    set_due(run, hop, hop->busy ? now + slot_of(hop, &hop->in_service) : PI2_NEVER);
}

static PI2_APART void leave_ring(pi2_run *run, pi2_hop *hop, int64_t now)
{
    leave(run, hop, &hop->in_service, now);
    pi2_ring_sent(&hop->ring, hop->in_service.bytes, now);
}

/* Of links that are no plain wires: they are asked for what they are behind those, which most are. */
static PI2_APART void serve_otherwise(pi2_run *run, pi2_hop *hop, int64_t now)
{
    if (hop->kind == PI2_LINK_HTB)
        serve_htb(run, hop, now);
    else if (hop->kind == PI2_LINK_RING)
        serve_ring(run, hop, now);
    else
        serve_together(run, hop, now);
}

static PI2_APART void act_otherwise(pi2_run *run, pi2_hop *hop, int64_t now)
{
    if (hop->kind == PI2_LINK_TOGETHER)
        leave_together(run, hop, now);
    else if (hop->kind == PI2_LINK_RING)
        leave_ring(run, hop, now);
    serve_otherwise(run, hop, now);
}

/* Whatever may go now goes, or is taken into service. */
static inline void serve(pi2_run *run, pi2_hop *hop, int64_t now)
{
    if (hop->kind == PI2_LINK_WIRE)
        serve_wire(run, hop, now);
    else
        serve_otherwise(run, hop, now);
}

void pi2_link_enter(pi2_run *run, pi2_hop *hop, pi2_packet *packet, int64_t now)
{
    pi2_queue_count(&hop->queue, packet, PI2_SENT);
    hop->at_enqueue.index++;
    packet->enqueued = PI2_NOT_QUEUED;
    packet->band = hop->queue.bands == 2 ? pi2_band_of(packet->ecn) : PI2_C;
    pi2_backlog_changes(hop, now);
    if (run->trace)
        pi2_trace_event(run, packet, PI2_TRACE_ENQUEUE, 0, now);
    hop->qdisc->enqueue(hop->discipline, &hop->queue, packet, now, &hop->at_enqueue);
    if (hop->due == PI2_NEVER)
        serve(run, hop, now);
    else if (hop->kind == PI2_LINK_RING) /* the wire is at work, but its ring may have room */
        fill_ring(run, hop, now);
}

void pi2_link_arrive(pi2_run *run, pi2_packet *packet, int64_t now)
{
    pi2_leg *leg = run->legs + packet->leg;
    if (!packet->onward) {
        leg->in_flight--;
        deliver(run, packet, now);
        return;
    }
    packet->onward = 0;
    if (!leg->first) {
        leg[-1].in_flight--;
        run->counts[(size_t)(packet->leg - 1) * PI2_CAUSES + PI2_DELIVERED]++;
    }
    pi2_link_enter(run, leg->hop, packet, now);
}

void pi2_link_act(pi2_run *run, pi2_hop *hop, int64_t now)
{
    if (hop->kind != PI2_LINK_WIRE) {
        act_otherwise(run, hop, now);
        return;
    }
    leave(run, hop, &hop->in_service, now);
    serve_wire(run, hop, now);
}

void pi2_link_capacity(pi2_run *run, pi2_hop *hop, double capacity, int64_t now)
{
    const int was_out = hop->out_from != PI2_NEVER;
    pi2_hop_capacity(hop, capacity, now);
    set_due(run, hop, hop->due);
    if (was_out && hop->due == PI2_NEVER)
        serve(run, hop, now); /* what has come meanwhile */
}
