/* Which segments carry PSH. */
#pragma once

#include "packet/tcp/flow.h"

/* The flow is connected, with its first window. */
void pi2_push_begin(pi2_flow *flow, int every, int packet_size);
/* All before `refill` is acknowledged: its program writes more. */
void pi2_push_written(pi2_flow *flow);
/* The new segment `push` is sent: whether it carries PSH, and plans the next one. */
int pi2_push(pi2_flow *flow, int every);
