/* Tail drop: packets are lost when the queue is full, and only then. No parameters. */
#include "packet/queues/qdisc.h"

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    (void)qdisc;
    (void)parameters;
    (void)queue;
    return 1;
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
    .enqueue = pi2_push_if_room,
    .dequeue = pi2_take_head,
    .probe = probe,
};
