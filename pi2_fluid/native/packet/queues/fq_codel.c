/* FQ-CoDel: CoDel in each queue of a flow. RFC 8290; tc-fq_codel(8). In one thing Linux's CoDel differs there: a queue is
 * left alone while all of them together hold no more than a full packet, not it by itself. */
#include "packet/queues/codel.h"
#include "packet/queues/flow_queues.h"

#define FIELDS(F) PI2_FLOW_QUEUES_FIELDS(F) PI2_CODEL_FIELDS(F)

typedef struct {
    pi2_flow_queues_given queues;
    struct {
        PI2_CODEL_FIELDS(PI2_FIELD)
    } inner;
} given;

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    const given *x = parameters;
    return pi2_flow_queues_setup(qdisc, &pi2_qdisc_codel, &x->queues, &x->inner, queue);
}

const pi2_qdisc pi2_qdisc_fq_codel = {
    .name = "fq_codel",
    .size = sizeof(pi2_flow_queues),
    PI2_CONFIGURED_BY(FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = pi2_flow_queues_enqueue,
    .dequeue = pi2_flow_queues_dequeue,
    .probe = pi2_flow_queues_probe,
    .waiting = pi2_flow_queues_waiting,
    .close = pi2_flow_queues_close,
};
