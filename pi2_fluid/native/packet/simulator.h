/* One run of the packet simulator: a bottleneck, its queue discipline, its flows, its schedule. Pure C11.
 *
 * The door of this folder: a scenario goes in, `advance` runs it for a number of events at a time, and what was
 * counted comes out. Time is in ns from the beginning. Same scenario and seed: same bytes, on every platform.
 *
 * Events of one instant happen in this order: the end of a bin, a change of the schedule, a tick of the queue's
 * controller, starts of flows, the link, arrivals at the receivers, acknowledgements at the senders, timers; among
 * starts and timers the lower flow first, among arrivals and acknowledgements the lower pipe (pipes are numbered as
 * the classes that first use them).
 */
#pragma once

#include "packet/core/limits.h"
#include "packet/run/outcome.h"
#include "packet/run/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pi2_run pi2_run;

enum { PI2_RUN_MORE, PI2_RUN_DONE, PI2_RUN_NO_MEMORY };

/* NULL if there is no memory, or the discipline refuses its parameters (then `*refused` is 1).
 *
 * Whoever calls this has checked, and nothing here checks again, that
 *   duration is 1 ns to PI2_LONGEST, bin at least 1 ns, buffer 1 to 10^9, packet_size 64 to 65535, ack_jitter 0 to
 *   2^31 ns;
 *   a full packet takes 1 ns to 2^53 ns at every capacity, and so long are the intervals of constant bit rate;
 *   there are 1 to 65535 classes, with base_rtt, start and start_jitter of 0 to PI2_LONGEST, stop not before start and
 *   up to PI2_LONGEST or PI2_NEVER, initial_window 1 to 10^6;
 *   changes are in the order of time, from 0 on, and their counts are -1 or numbers of flows;
 *   all parameters are numbers, gains at most 10^6 Hz, times 10^-9 to 10^6 s where they cannot be 0.
 * All else may be: bins longer than the run, no flows, flows that come after its end, several changes at one instant.
 * How long a run takes is the caller's concern, and so is memory: some 600 bytes for each flow and 4 for each of its
 * blocks, 6 KB for each class and block, of which there are fewer the more classes. */
pi2_run *pi2_run_new(const pi2_packet_scenario *scenario, int *refused);
void pi2_run_free(pi2_run *run);
/* Handles up to `events` events. */
int pi2_run_advance(pi2_run *run, int64_t events);
/* ns up to which the run has come. */
int64_t pi2_run_time(const pi2_run *run);
void pi2_run_outcome(const pi2_run *run, pi2_packet_outcome *outcome);

#ifdef __cplusplus
}
#endif
