/* What a sender does when its timer fires. */
#pragma once

#include "packet/run/run.h"

void pi2_sender_timer(pi2_run *run, pi2_flow *flow, int64_t now);
