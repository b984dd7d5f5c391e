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

PI2_PI_QDISC(coupled, judged);
