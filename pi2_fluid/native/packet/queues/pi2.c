/* PI2: a packet is signalled if two draws both fall below p', hence with p'^2. Parameters: pi_controller.h.
 * PI2 paper (CoNEXT'16), section 4; Linux 6.18, sch_dualpi2, with Classic traffic alone. */
#include "packet/queues/pi_controller.h"

PI2_PI_QDISC(pi2, pi2_two_draws);
