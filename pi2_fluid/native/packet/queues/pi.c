/* PI: every packet is signalled with the controller's own variable, in one draw. Parameters: pi_controller.h.
 * Hollot, Misra, Towsley, Gong (INFOCOM 2001); PI2 paper (CoNEXT'16), section 2. */
#include "packet/queues/pi_controller.h"

static inline int judged(const pi2_controller *c, int ecn, pi2_draws *draws)
{
    return pi2_draw(draws, 0) < c->linear ? pi2_classic_verdict(c, ecn) : PI2_PASS;
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    return pi2_controller_setup(qdisc, parameters, queue, &pi2_aqm_pi);
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    pi2_controller_enqueue(qdisc, queue, packet, now, draws, judged);
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    return pi2_controller_dequeue(qdisc, queue, packet, now, draws, judged);
}

const pi2_qdisc pi2_qdisc_pi = {
    .name = "pi",
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
