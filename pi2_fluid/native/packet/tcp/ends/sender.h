/* What a sender learns from an acknowledgement, and does then. */
#pragma once

#include "packet/run/run.h"

void pi2_on_ack(pi2_run *run, pi2_flow *flow, const pi2_ack *ack, int64_t now);
/* A paced sender may send on. */
void pi2_on_pace(pi2_run *run, pi2_flow *flow, int64_t now);
