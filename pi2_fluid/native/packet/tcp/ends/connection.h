/* How a flow begins and ends. */
#pragma once

#include "packet/run/run.h"

void pi2_flow_open(pi2_run *run, pi2_flow *flow, int64_t now);
/* Its SYN was not answered. */
void pi2_flow_retry(pi2_run *run, pi2_flow *flow, int64_t now);
/* The last segment of its transfer is acknowledged. */
void pi2_flow_finish(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_flow_close(pi2_run *run, pi2_flow *flow, int64_t now);
