/* The one timer of a sender: what it is set for, and for when. */
#pragma once

#include "packet/run/run.h"

/* PI2_TIMER_*, after `ms`. */
void pi2_arm(pi2_run *run, pi2_flow *flow, int what, int64_t ms, int64_t now);
/* The timeout. */
void pi2_arm_rto(pi2_run *run, pi2_flow *flow, int64_t now);
/* A tail loss probe; 0 if none is due in this state. */
int pi2_arm_probe(pi2_run *run, pi2_flow *flow, int advancing, int64_t now);
/* To look for losses again, after `wait` ns. */
void pi2_arm_reorder(pi2_run *run, pi2_flow *flow, int64_t wait, int64_t now);
