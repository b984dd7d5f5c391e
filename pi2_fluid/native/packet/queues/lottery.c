/* Lottery: every packet is signalled with the same probability, whatever the queue. It is no queue management, but a
 * known one, for measuring how senders respond. */
#include "packet/queues/qdisc.h"

#define FIELDS(F) \
    F(p)    /* probability of a signal */ \
    F(mark) /* 1: packets that can be marked are marked, not dropped */

typedef struct {
    FIELDS(PI2_FIELD)
} lottery_parameters;

typedef struct {
    uint64_t threshold; /* a draw below this is a signal */
    double p;
    int mark;
} lottery;

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    lottery *q = qdisc;
    const lottery_parameters *x = parameters;
    const double p = x->p;
    (void)queue;
    if (!(p >= 0.0 && p <= 1.0))
        return 0;
    q->p = p;
    q->threshold = pi2_bits_below(p);
    q->mark = x->mark != 0.0;
    return 1;
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    const lottery *q = qdisc;
    if (!pi2_queue_has_room(queue, packet, now))
        return;
    if (pi2_draw(draws, 0) < q->threshold) {
        if (!pi2_can_be_marked(q->mark, packet->ecn)) {
            pi2_queue_drop(queue, packet, now, PI2_DROP_AQM);
            return;
        }
        pi2_queue_mark(queue, packet, PI2_MARK_AQM);
    }
    pi2_queue_push(queue, PI2_C, packet, now);
}

static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    const lottery *q = qdisc;
    (void)queue;
    probe->controller = probe->classic = probe->scalable = q->p;
}

const pi2_qdisc pi2_qdisc_lottery = {
    .name = "lottery",
    .size = sizeof(lottery),
    PI2_CONFIGURED_BY(FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = pi2_take_head,
    .probe = probe,
};
