/* The counters that a run keeps of its flows and its queue, against what they count. */
#include <stdio.h>

#include "packet/run/transfers.h"
#include "tests/packet/checks.h"

static int wrong(const pi2_run *run, uint32_t flow, const char *what, int64_t is, int64_t counted)
{
    printf("at %lld ns, flow %u: %s is %lld, but there are %lld\n", (long long)run->now, flow, what, (long long)is,
           (long long)counted);
    return 0;
}

static int sound_board(const pi2_run *run, const pi2_flow *f)
{
    const uint32_t number = pi2_number(run, f), outstanding = pi2_outstanding(f);
    uint32_t sacked = 0, lost = 0, again = 0, arrived = 0, both = 0;
    for (uint32_t i = 0; i < outstanding; i++) {
        const uint32_t segment = f->window.una + i;
        const uint64_t e = *pi2_board(f, segment);
        sacked += (e & PI2_SACKED) != 0;
        lost += (e & PI2_LOST) != 0;
        again += (e & PI2_RETRANSMITTED) != 0;
        both += (e & PI2_SACKED) && (e & PI2_LOST);
        arrived += (e & PI2_ARRIVED) && (int32_t)(segment - f->expected) > 0;
    }
    if (sacked != f->sacked)
        return wrong(run, number, "sacked", f->sacked, sacked);
    if (lost != f->lost)
        return wrong(run, number, "lost", f->lost, lost);
    if (again != f->retransmitted)
        return wrong(run, number, "retransmitted", f->retransmitted, again);
    if (both)
        return wrong(run, number, "sacked and lost", 0, both);
    if (arrived != f->holes)
        return wrong(run, number, "holes", f->holes, arrived);
    if (f->expected - f->window.una > outstanding)
        return wrong(run, number, "expected", f->expected, f->window.next);
    if (pi2_in_flight(f) > 2 * outstanding)
        return wrong(run, number, "in flight", pi2_in_flight(f), outstanding);
    return 1;
}

static int sound_classes(const pi2_run *run)
{
    for (int i = 0; i < run->scenario.class_count; i++) {
        const pi2_class *c = run->classes + i;
        int64_t windows = 0, there = 0;
        for (uint32_t n = c->first; n < c->first + c->most; n++) {
            const pi2_flow *f = run->flows + n;
            if (f->life != PI2_ESTABLISHED)
                continue;
            there++;
            if (!c->spec->congestion)
                continue;
            windows += f->window.cwnd;
            if (f->window.cwnd < 1 || f->counted != f->window.cwnd)
                return wrong(run, n, "window", f->counted, f->window.cwnd);
            if (!sound_board(run, f))
                return 0;
            if (pi2_has_transfers(c) && (f->window.una == f->end || (int32_t)(f->end - f->window.next) < 0))
                return wrong(run, n, "end of the transfer", f->end, f->window.next);
        }
        if (windows != c->window_sum)
            return wrong(run, c->first, "sum of windows", c->window_sum, windows);
        if (there != c->there)
            return wrong(run, c->first, "flows there", c->there, there);
        if (c->used > c->most || c->present_count > c->used)
            return wrong(run, c->first, "most", c->most, c->used);
    }
    return 1;
}

static int sound_hop(const pi2_run *run, const pi2_hop *hop)
{
    const pi2_band *b;
    int64_t packets = 0, all = 0;
    for (uint32_t n = 0; (b = pi2_waiting(hop->qdisc, hop->discipline, &hop->queue, n)); n++) {
        int64_t bytes = 0, before = 0;
        for (uint32_t i = 0; i < b->count; i++) {
            const pi2_packet *packet = b->ring + ((b->head + i) & b->mask);
            if (packet->enqueued < before)
                return wrong(run, packet->flow, "entered", packet->enqueued, before);
            if (run->legs[packet->leg].hop != hop)
                return wrong(run, packet->flow, "link", run->legs[packet->leg].hop->number, hop->number);
            before = packet->enqueued;
            bytes += packet->bytes;
        }
        if (bytes != b->bytes)
            return wrong(run, 0, "backlog", b->bytes, bytes);
        packets += b->count;
        all += bytes;
    }
    if (packets != pi2_queue_packets(&hop->queue))
        return wrong(run, 0, "packets of all", pi2_queue_packets(&hop->queue), packets);
    if (all != pi2_queue_bytes(&hop->queue))
        return wrong(run, 0, "backlog of all", pi2_queue_bytes(&hop->queue), all);
    /* the kernel's RED has room for the bytes of so many full packets */
    if (hop->qdisc == &pi2_qdisc_red ? all > hop->queue.limit * hop->queue.mtu : packets > hop->queue.limit)
        return wrong(run, 0, "limit", hop->queue.limit, pi2_queue_packets(&hop->queue));
    if (pi2_queue_packets(&hop->queue) && hop->due == PI2_NEVER)
        return wrong(run, 0, "link idle", 0, pi2_queue_packets(&hop->queue));
    return hop->due >= run->now || wrong(run, 0, "link overdue", hop->due, run->now);
}

int pi2_check_inside(const pi2_run *run)
{
    for (uint32_t i = 0; i < run->hop_count; i++)
        if (!sound_hop(run, run->hops + i))
            return 0;
    return sound_classes(run);
}
