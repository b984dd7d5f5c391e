/* Coupled PI + PI2 in one queue: Scalable packets, those of ECT(1) or CE, are marked with k p' in one draw, all others
 * are signalled with p'^2 in two. Parameters: pi_controller.h.
 * PI2 paper (CoNEXT'16), section 5 and its code, where L4S packets alone count as Scalable. */
#include "packet/queues/pi_controller.h"

static inline int judged(const pi2_controller *c, int ecn, pi2_draws *draws)
{
    if (ecn == PI2_ECT1 || ecn == PI2_CE)
        return pi2_draw(draws, 0) < c->scalable ? PI2_MARK : PI2_PASS;
    return pi2_two_draws(c, ecn, draws);
}

int pi2_coupled_judge(const pi2_controller *c, int ecn, pi2_draws *draws)
{
    return judged(c, ecn, draws);
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    return pi2_controller_setup(qdisc, parameters, queue, &pi2_aqm_coupled);
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    pi2_controller_enqueue(qdisc, queue, packet, now, draws, judged);
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    return pi2_controller_dequeue(qdisc, queue, packet, now, draws, judged);
}

const pi2_qdisc pi2_qdisc_coupled = {
    .name = "coupled",
    .size = sizeof(pi2_controller),
    PI2_CONFIGURED_BY(PI2_PI_QDISC_FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .first_tick = pi2_controller_first_tick,
    .tick = pi2_controller_tick,
    .probe = pi2_controller_probe,
};
