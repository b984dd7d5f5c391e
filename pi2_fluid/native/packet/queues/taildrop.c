/* Tail drop: packets are lost when the queue is full, and only then. No parameters. */
#include "packet/queues/qdisc.h"

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    (void)qdisc;
    (void)parameters;
    (void)queue;
    return 1;
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    (void)qdisc;
    (void)draws;
    if (pi2_queue_has_room(queue, packet, now))
        pi2_queue_push(queue, PI2_C, packet, now);
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    (void)qdisc;
    (void)now;
    (void)draws;
    if (!queue->band[PI2_C].count)
        return 0;
    pi2_queue_pop(queue, PI2_C, packet);
    return 1;
}

static int64_t first_tick(const void *qdisc)
{
    (void)qdisc;
    return PI2_NEVER;
}

static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    (void)qdisc;
    (void)queue;
    *probe = (pi2_probe){0};
}

const pi2_qdisc pi2_qdisc_taildrop = {
    .name = "taildrop",
    .size = 1, /* it keeps nothing, but there is a block */
    PI2_CONFIGURED_BY(PI2_NO_FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .first_tick = first_tick,
    .probe = probe,
};
