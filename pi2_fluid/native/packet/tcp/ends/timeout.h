/* What a sender does when its timer fires. */
#ifndef PI2_PACKET_TIMEOUT_H
#define PI2_PACKET_TIMEOUT_H

#include "packet/run/run.h"

void pi2_sender_timer(pi2_run *run, pi2_flow *flow, int64_t now);

#endif
