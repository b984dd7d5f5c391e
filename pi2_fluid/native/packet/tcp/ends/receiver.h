/* What a receiver acknowledges, and when. What it makes of a packet, pi2_receive, is declared where it is called, in
 * packet/run/link.h. */
#pragma once

#include "packet/run/run.h"

/* All that arrived in order, at once. */
void pi2_acknowledge(pi2_run *run, pi2_flow *flow, int64_t now);
/* The delayed acknowledgement is due. */
void pi2_delayed_ack(pi2_run *run, pi2_flow *flow, int64_t now);
