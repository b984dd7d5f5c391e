/* The schedule of a run: who sends, and when. */
#pragma once

#include "packet/run/run.h"

/* 0 if there is no memory. */
int pi2_schedule_new(pi2_run *run, const pi2_packet_scenario *scenario);
void pi2_schedule_free(pi2_run *run);
/* The next step of the schedule, and the next start of a flow. */
void pi2_schedule_step(pi2_run *run, int64_t now);
void pi2_schedule_start(pi2_run *run, int64_t now);
