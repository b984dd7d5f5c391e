/* Flow queueing; see flow_queues.h. */
#include "packet/queues/flow_queues.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY = UINT16_MAX + 1, ALIGNED = 16 };

/* Memory that the kernel counts for a packet beside its bytes: a full Ethernet frame takes 2304. */
enum { OVERHEAD = 804 };

struct pi2_flow_queue {
    pi2_queue queue;  /* whose limit, bytes beside it and so on are what its discipline sees */
    int64_t deficit;  /* bytes that it may send in this turn */
    uint32_t next;    /* in its list */
    uint32_t before;  /* that was begun before */
    uint8_t begun, listed;
};

/* The lists */

static void append(pi2_flow_queues *of, pi2_turns *turns, uint32_t number)
{
    of->queues[number].next = NOBODY;
    if (turns->head == NOBODY)
        turns->head = number;
    else
        of->queues[turns->tail].next = number;
    turns->tail = number;
}

static void remove_head(pi2_flow_queues *of, pi2_turns *turns)
{
    turns->head = of->queues[turns->head].next;
}

/* Queues */

static void *state_of(const pi2_flow_queues *of, uint32_t number)
{
    return of->states + number * of->size;
}

/* Acknowledgements of a flow that cross the link are another flow. */
static uint32_t number_of(const pi2_flow_queues *of, const pi2_queue *queue, const pi2_packet *packet)
{
    const uint64_t flow = 2 * (uint64_t)packet->flow + ((packet->flags & PI2_RETURNING) != 0);
    return (uint32_t)pi2_random_below(queue->key, flow, of->flows);
}

/* Sets a queue up when its first packet comes; 0 if there is no memory. */
static int begin(pi2_flow_queues *of, const pi2_queue *queue, uint32_t number)
{
    pi2_flow_queue *q = of->queues + number;
    q->queue = *queue;
    memset(q->queue.band, 0, sizeof q->queue.band);
    q->queue.limit = INT64_MAX;
    if (!pi2_band_grow(&q->queue.band[PI2_C]))
        return 0;
    of->inner->setup(state_of(of, number), of->inner_parameters, &q->queue);
    q->before = of->begun;
    q->begun = 1;
    of->begun = number;
    return 1;
}

/* What waits in all of them is told in the link's own queue, which holds no packet. `packets` and `bytes` waited in this
 * one before something happened to it. */
static void account(pi2_queue *queue, const pi2_flow_queue *q, uint32_t packets, int64_t bytes)
{
    queue->band[PI2_C].count += q->queue.band[PI2_C].count - packets;
    queue->band[PI2_C].bytes += q->queue.band[PI2_C].bytes - bytes;
}

static int64_t memory_of(const pi2_queue *queue)
{
    return queue->band[PI2_C].bytes + OVERHEAD * (int64_t)queue->band[PI2_C].count;
}

/* Of those that wait in a list the one with most bytes, or the first by number of several. */
static uint32_t longest(const pi2_flow_queues *of, const pi2_turns *turns, uint32_t so_far)
{
    for (uint32_t n = turns->head; n != NOBODY; n = of->queues[n].next) {
        const pi2_band *band = &of->queues[n].queue.band[PI2_C];
        const int64_t most = so_far == NOBODY ? -1 : of->queues[so_far].queue.band[PI2_C].bytes;
        if (band->count && (band->bytes > most || (band->bytes == most && n < so_far)))
            so_far = n;
    }
    return so_far;
}

/* Makes room: the longest queue loses packets from its head, up to half of its bytes. */
static void make_room(pi2_flow_queues *of, pi2_queue *queue, int64_t now)
{
    const uint32_t number = longest(of, &of->young, longest(of, &of->old, NOBODY));
    pi2_flow_queue *q = of->queues + number;
    const uint32_t packets = q->queue.band[PI2_C].count;
    const int64_t bytes = q->queue.band[PI2_C].bytes;
    uint32_t lost = 0;
    do {
        pi2_packet packet;
        pi2_queue_pop(&q->queue, PI2_C, &packet);
        pi2_queue_drop(&q->queue, &packet, now, PI2_DROP_FULL);
    } while (++lost < of->batch && bytes - q->queue.band[PI2_C].bytes < bytes / 2);
    account(queue, q, packets, bytes);
    if (of->inner->made_room)
        of->inner->made_room(state_of(of, number), lost);
}

void pi2_flow_queues_enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    pi2_flow_queues *of = qdisc;
    const uint32_t number = number_of(of, queue, packet);
    pi2_flow_queue *q = of->queues + number;
    uint32_t packets;
    int64_t bytes;
    if (!q->begun && !begin(of, queue, number)) {
        if (queue->no_memory)
            *queue->no_memory = 1;
        return;
    }
    packets = q->queue.band[PI2_C].count;
    bytes = q->queue.band[PI2_C].bytes;
    if (!of->batch)
        q->queue.limit = packets + queue->limit - pi2_queue_packets(queue);
    of->inner->enqueue(state_of(of, number), &q->queue, packet, now, draws);
    account(queue, q, packets, bytes);
    if (!q->listed && q->queue.band[PI2_C].count) {
        q->listed = 1;
        q->deficit = of->quantum;
        of->listed++;
        append(of, &of->young, number);
    }
    if (of->batch && (pi2_queue_packets(queue) > queue->limit || memory_of(queue) > of->memory_limit))
        make_room(of, queue, now);
}

/* The queue that has nothing leaves its list, but not from among the young while others wait: it could come back at once
 * and go first for ever. */
static void retire(pi2_flow_queues *of, pi2_turns *turns, uint32_t number)
{
    remove_head(of, turns);
    if (turns == &of->young && of->old.head != NOBODY) {
        append(of, &of->old, number);
        return;
    }
    of->queues[number].listed = 0;
    of->listed--;
}

int pi2_flow_queues_dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    pi2_flow_queues *of = qdisc;
    for (;;) {
        pi2_turns *turns = of->young.head != NOBODY ? &of->young : &of->old;
        const uint32_t number = turns->head;
        pi2_flow_queue *q;
        uint32_t packets;
        int64_t bytes;
        int taken;
        if (number == NOBODY)
            return 0;
        q = of->queues + number;
        if (q->deficit <= 0) {
            q->deficit += of->quantum;
            remove_head(of, turns);
            append(of, &of->old, number);
            continue;
        }
        packets = q->queue.band[PI2_C].count;
        bytes = q->queue.band[PI2_C].bytes;
        q->queue.beside = queue->band[PI2_C].bytes - bytes;
        taken = of->inner->dequeue(state_of(of, number), &q->queue, packet, now, draws);
        account(queue, q, packets, bytes);
        if (taken) {
            q->deficit -= packet->bytes;
            return 1;
        }
        retire(of, turns, number);
    }
}

int64_t pi2_flow_queues_first_tick(const void *qdisc)
{
    const pi2_flow_queues *of = qdisc;
    return pi2_first_tick(of->inner, state_of(of, of->flows));
}

/* Those that no packet has met are as they began, and a tick leaves them so: one of them stands for all. */
int64_t pi2_flow_queues_tick(void *qdisc, pi2_queue *queue, int64_t now)
{
    pi2_flow_queues *of = qdisc;
    pi2_queue empty = {.bands = 1, .mtu = queue->mtu, .capacity = queue->capacity};
    int64_t next = of->inner->tick(state_of(of, of->flows), &empty, now);
    for (uint32_t n = of->begun; n != NOBODY; n = of->queues[n].before)
        next = of->inner->tick(state_of(of, n), &of->queues[n].queue, now);
    return next;
}

/* Each has another probability. The variable is how many have a place in the lists. */
void pi2_flow_queues_probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    (void)queue;
    probe->controller = ((const pi2_flow_queues *)qdisc)->listed;
    probe->classic = probe->scalable = NAN;
}

const pi2_band *pi2_flow_queues_waiting(const void *qdisc, uint32_t number)
{
    const pi2_flow_queues *of = qdisc;
    return number < of->flows ? &of->queues[number].queue.band[PI2_C] : NULL;
}

void pi2_flow_queues_close(void *qdisc)
{
    pi2_flow_queues *of = qdisc;
    for (uint32_t n = of->begun; of->queues && n != NOBODY; n = of->queues[n].before)
        free(of->queues[n].queue.band[PI2_C].ring);
    free(of->queues);
    free(of->states);
    of->queues = NULL;
    of->states = NULL;
}

int pi2_flow_queues_setup(pi2_flow_queues *of, const pi2_qdisc *inner, const pi2_flow_queues_given *given,
                          const void *inner_parameters, const pi2_queue *queue)
{
    memset(of, 0, sizeof *of);
    if (!(given->flows >= 1.0 && given->flows <= PI2_MOST_FLOW_QUEUES && given->quantum >= 1.0 && given->quantum < 1e9
          && given->memory_limit >= 0.0 && given->drop_batch >= 0.0 && given->drop_batch < 1e9))
        return 0;
    of->inner = inner;
    memcpy(of->inner_parameters, inner_parameters, (size_t)inner->parameters * sizeof(double));
    of->flows = (uint32_t)given->flows;
    of->batch = (uint32_t)given->drop_batch;
    of->quantum = (int64_t)given->quantum;
    of->memory_limit = given->memory_limit < 1e18 ? (int64_t)given->memory_limit : INT64_MAX;
    of->begun = of->young.head = of->old.head = NOBODY;
    of->size = (inner->size + ALIGNED - 1) / ALIGNED * ALIGNED;
    of->queues = calloc(of->flows, sizeof *of->queues);
    of->states = calloc((size_t)of->flows + 1, of->size); /* one more, of a queue without packets */
    if (of->queues && of->states) {
        if (inner->setup(state_of(of, of->flows), inner_parameters, queue))
            return 1;
    } else if (queue->no_memory) {
        *queue->no_memory = 1;
    }
    pi2_flow_queues_close(of);
    return 0;
}
