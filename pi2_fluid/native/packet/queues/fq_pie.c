/* FQ-PIE: PIE in each queue of a flow, which one timer updates all at once. tc-fq_pie(8). What finds all full is lost on
 * arrival: no other queue makes room. */
#include "packet/queues/flow_queues.h"
#include "packet/queues/pie.h"

#define FIELDS(F) PI2_FLOW_QUEUES_FIELDS(F) PI2_PIE_PACKET_FIELDS(F)

typedef struct {
    pi2_flow_queues_given queues;
    struct {
        PI2_PIE_PACKET_FIELDS(PI2_FIELD)
    } inner;
} given;

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    const given *x = parameters;
    return pi2_flow_queues_setup(qdisc, &pi2_qdisc_pie, &x->queues, &x->inner, queue);
}

const pi2_qdisc pi2_qdisc_fq_pie = {
    .name = "fq_pie",
    .size = sizeof(pi2_flow_queues),
    PI2_CONFIGURED_BY(FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = pi2_flow_queues_enqueue,
    .dequeue = pi2_flow_queues_dequeue,
    .first_tick = pi2_flow_queues_first_tick,
    .tick = pi2_flow_queues_tick,
    .probe = pi2_flow_queues_probe,
    .waiting = pi2_flow_queues_waiting,
    .close = pi2_flow_queues_close,
};
