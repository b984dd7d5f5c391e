/* How a flow begins and ends. */
#ifndef PI2_PACKET_CONNECTION_H
#define PI2_PACKET_CONNECTION_H

#include "packet/run/run.h"

void pi2_flow_open(pi2_run *run, pi2_flow *flow, int64_t now);
/* Its SYN was not answered. */
void pi2_flow_retry(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_flow_close(pi2_run *run, pi2_flow *flow, int64_t now);

#endif
