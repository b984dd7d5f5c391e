/* What is counted of a run. */
#pragma once

#include "packet/run/run.h"

/* 0 if there is no memory. */
int pi2_statistics_new(pi2_run *run);
void pi2_statistics_free(pi2_run *run);
void pi2_end_bin(pi2_run *run, int64_t now);
/* A flow begins (1) or ends (-1). */
void pi2_count_flow(pi2_run *run, const pi2_flow *flow, int change, int64_t now);
void pi2_window_moved(pi2_run *run, pi2_flow *flow, int64_t now);
/* A packet entered service. */
void pi2_departed(pi2_run *run, const pi2_packet *packet, int64_t now);
void pi2_trace_event(pi2_run *run, const pi2_packet *packet, int what, int cause, int64_t now);

/* After whatever may have moved the window. */
static inline void pi2_count_window(pi2_run *run, pi2_flow *flow, int64_t now)
{
    if (flow->counted != flow->window.cwnd)
        pi2_window_moved(run, flow, now);
}
