/* Sources that nobody answers: packets at a rate, in bursts or at random, with pauses perhaps. */
#pragma once

#include "packet/run/run.h"

/* A flow of a class without congestion control begins. */
void pi2_source_start(pi2_run *run, pi2_flow *flow, int64_t now);
/* What is due of it. */
void pi2_source_send(pi2_run *run, pi2_flow *flow, int64_t now);
