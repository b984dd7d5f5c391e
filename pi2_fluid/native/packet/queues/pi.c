/* PI: every packet is signalled with the controller's own variable, in one draw. Parameters: pi_controller.h.
 * Hollot, Misra, Towsley, Gong (INFOCOM 2001); PI2 paper (CoNEXT'16), section 2. */
#include "packet/queues/pi_controller.h"

static inline int judged(const pi2_controller *c, int ecn, pi2_draws *draws)
{
    return pi2_draw(draws, 0) < c->linear ? pi2_classic_verdict(c, ecn) : PI2_PASS;
}

PI2_PI_QDISC(pi, judged);
