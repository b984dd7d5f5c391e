/* What a sender puts on the link. */
#pragma once

#include "packet/run/run.h"

void pi2_transmit(pi2_run *run, pi2_flow *flow, uint32_t segment, int again, int64_t now);
/* New segments while the window has room, and the pace of a paced flow allows. */
void pi2_send_new(pi2_run *run, pi2_flow *flow, int64_t now);
/* What was lost, oldest first, while the window has room. */
void pi2_send_again(pi2_run *run, pi2_flow *flow, int64_t now);
/* One of them, for which pi2_again_room made room. */
void pi2_send_one_again(pi2_run *run, pi2_flow *flow, uint32_t segment, int64_t now);
