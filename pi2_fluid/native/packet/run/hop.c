/* A hop by itself: how it begins, and how long its link takes. */
#include "packet/run/hop.h"

#include <stdlib.h>
#include <string.h>

#include "packet/run/streams.h"

/* Returns 0 if there is no memory. */
static int copy_pushes(pi2_hop *hop, const pi2_packet_link *s)
{
    if (!s->push_count)
        return 1;
    hop->pushes = malloc(s->push_count * sizeof *hop->pushes);
    if (!hop->pushes)
        return 0;
    memcpy(hop->pushes, s->pushes, s->push_count * sizeof *hop->pushes);
    hop->push_count = s->push_count;
    return 1;
}

static uint64_t key_of(const pi2_hop *hop, const pi2_packet_scenario *scenario, int kind)
{
    return pi2_stream_key(scenario->seed, pi2_link_stream(hop->number, kind));
}

/* Shares of a chain that is at rest: `loss` of all are lost, `burst` in a row in the mean. */
static void set_up_losses(pi2_hop *hop, const pi2_packet_scenario *scenario, const pi2_packet_link *s)
{
    pi2_losses *l = &hop->losses;
    hop->loses = s->loss > 0.0;
    l->key = key_of(hop, scenario, PI2_STREAM_LOSS);
    l->after_loss = s->loss_burst > 0.0 ? 1.0 - 1.0 / s->loss_burst : s->loss;
    l->after_arrival = s->loss_burst > 0.0 ? s->loss / (s->loss_burst * (1.0 - s->loss)) : s->loss;
    l->lost = pi2_unit(pi2_random(l->key, l->index++)) < s->loss;
}

int pi2_hop_loses(pi2_hop *hop)
{
    pi2_losses *l = &hop->losses;
    l->lost = pi2_unit(pi2_random(l->key, l->index++)) < (l->lost ? l->after_loss : l->after_arrival);
    return l->lost;
}

int pi2_hop_new(pi2_hop *hop, const pi2_packet_scenario *scenario, uint32_t number, int64_t *counts, int *refused)
{
    const pi2_packet_link *s = scenario->links + number;
    hop->number = number;
    hop->queue.bands = s->qdisc->bands;
    hop->queue.limit = s->buffer;
    hop->queue.mtu = scenario->packet_size;
    hop->queue.capacity = s->capacity;
    hop->queue.counts = counts;
    hop->queue.key = key_of(hop, scenario, PI2_STREAM_QUEUE);
    hop->qdisc = s->qdisc;
    hop->discipline = calloc(1, s->qdisc->size);
    for (int which = 0; which < 2; which++) {
        hop->at_enqueue.key[which] = key_of(hop, scenario, PI2_STREAM_ENQUEUE + which);
        hop->at_dequeue.key[which] = key_of(hop, scenario, PI2_STREAM_DEQUEUE + which);
    }
    hop->kind = s->aggregate > 1 ? PI2_LINK_TOGETHER : s->ring ? PI2_LINK_RING : s->kind;
    pi2_ring_new(&hop->ring, s->ring, s->bql, s->bql_least, s->bql_most);
    hop->together.most = s->aggregate;
    hop->together.longest = s->aggregate_time;
    set_up_losses(hop, scenario, s);
    hop->due = hop->out_from = PI2_NEVER;
    for (int band = 0; band < hop->queue.bands; band++)
        if (!pi2_band_grow(&hop->queue.band[band]))
            return 0;
    if (s->ring && !pi2_band_grow(&hop->ring.held))
        return 0;
    if (!hop->discipline || !copy_pushes(hop, s))
        return 0;
    pi2_hop_capacity(hop, s->capacity, 0);
    if (!hop->qdisc->setup(hop->discipline, s->qdisc_parameters, &hop->queue)) {
        *refused = !*hop->queue.no_memory;
        return 0;
    }
    hop->tick = pi2_first_tick(hop->qdisc, hop->discipline);
    return 1;
}

void pi2_hop_free(pi2_hop *hop)
{
    for (int band = 0; band < 2; band++)
        free(hop->queue.band[band].ring);
    if (hop->discipline && hop->qdisc->close)
        hop->qdisc->close(hop->discipline);
    free(hop->discipline);
    free(hop->together.packets);
    pi2_ring_free(&hop->ring);
    free(hop->pushes);
}

void pi2_hop_tick(pi2_hop *hop, int64_t now)
{
    if (hop->push < hop->push_count)
        hop->qdisc->push(hop->discipline, hop->pushes[hop->push++]);
    hop->tick = hop->qdisc->tick(hop->discipline, &hop->queue, now);
}

/* Linux keeps the ns per byte as an integer of 31 or 32 bits and a shift, and truncates. */
static void htb_rate(pi2_hop *hop)
{
    const double bytes = hop->queue.capacity / 8.0;
    const uint64_t rate = bytes >= 1.0 && bytes < 1e15 ? (uint64_t)bytes : 0;
    uint64_t factor = 1000000000;
    hop->htb_shift = 0;
    hop->htb_factor = 0;
    if (!rate)
        return;
    while (!((hop->htb_factor = factor / rate) >> 31) && !(factor >> 63)) {
        factor <<= 1;
        hop->htb_shift++;
    }
    if (hop->htb_factor >> 40) /* so slow a link that bytes * factor might not fit */
        hop->htb_factor = 0;
}

static void stop(pi2_hop *hop, int64_t now)
{
    if (hop->out_from != PI2_NEVER)
        return;
    hop->out_from = now;
    hop->due_before = hop->due;
    hop->due = PI2_PAST_THE_END; /* so that what comes waits */
}

/* As it was when it stopped. */
static void go_on(pi2_hop *hop, int64_t now)
{
    if (hop->out_from == PI2_NEVER)
        return;
    hop->free_from += now - hop->out_from;
    hop->due = hop->due_before == PI2_NEVER ? PI2_NEVER : hop->due_before + (now - hop->out_from);
    hop->out_from = PI2_NEVER;
}

/* The packet in service, or what an htb link owes, takes its remaining bits along to the new rate. */
void pi2_hop_capacity(pi2_hop *hop, double capacity, int64_t now)
{
    const double factor = hop->queue.capacity / capacity;
    if (capacity == 0.0) {
        stop(hop, now);
        return;
    }
    go_on(hop, now);
    hop->queue.capacity = capacity;
    htb_rate(hop);
    hop->slot = pi2_slot_of(hop, (int)hop->queue.mtu);
    if (hop->busy)
        hop->due = now + (int64_t)((double)(hop->due - now) * factor + 0.5);
    if (hop->free_from > now) {
        hop->free_from = now + (int64_t)((double)(hop->free_from - now) * factor + 0.5);
        if (hop->due != PI2_NEVER)
            hop->due = hop->free_from;
    }
}
