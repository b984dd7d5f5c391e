/* PI2: a packet is signalled if two draws both fall below p', hence with p'^2. Parameters: pi_controller.h.
 * PI2 paper (CoNEXT'16), section 4; Linux 6.18, sch_dualpi2, with Classic traffic alone. */
#include "packet/queues/pi_controller.h"

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    return pi2_controller_setup(qdisc, parameters, queue, &pi2_aqm_pi2);
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    pi2_controller_enqueue(qdisc, queue, packet, now, draws, pi2_two_draws);
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    return pi2_controller_dequeue(qdisc, queue, packet, now, draws, pi2_two_draws);
}

const pi2_qdisc pi2_qdisc_pi2 = {
    .name = "pi2",
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
