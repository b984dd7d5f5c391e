/* What must hold of every run, whatever its scenario. Each check says what is wrong and returns 0. */
#pragma once

#include "tests/packet/scenario.h"

/* Between two events: counters of flows and queue against what they count (inside.c). */
int pi2_check_inside(const pi2_run *run);
/* Afterwards: conservation, sums, bounds (checks.c); `done`: the run has come to its end. */
int pi2_check_outcome(const pi2_test_scenario *scenario, const pi2_packet_outcome *outcome, int done);
/* The trace: order of time, of each band, and no idling (trace.c). */
int pi2_check_trace(const pi2_test_scenario *scenario, const pi2_run *run);

/* A number that stands for all that was counted, the number of events apart. */
uint64_t pi2_digest(const pi2_packet_outcome *outcome);
