/* What a sender learns from an acknowledgement, and does then. */
#ifndef PI2_PACKET_SENDER_H
#define PI2_PACKET_SENDER_H

#include "packet/run/run.h"

void pi2_on_ack(pi2_run *run, pi2_flow *flow, const pi2_ack *ack, int64_t now);

#endif
