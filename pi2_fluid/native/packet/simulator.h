/* One run of the packet simulator: links with their queue disciplines, flows, a schedule. Pure C11.
 *
 * The door of this folder: a scenario goes in, `advance` runs it for a number of events at a time, and what was
 * counted comes out. Time is in ns from the beginning. Same scenario and seed: same bytes, on every platform.
 *
 * Events of one instant happen in this order: the end of a bin, a change of the schedule, ticks of the queues'
 * controllers, starts of flows, links, arrivals at queues and receivers, acknowledgements at the senders, timers;
 * among ticks and links the lower link first, among starts and timers the lower flow, among arrivals and
 * acknowledgements the lower pipe (there is one for each delay, numbered as classes first use them on their routes;
 * of acknowledgements, for each delay from each link that is somebody's last).
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

/* NULL if there is no memory, or a discipline refuses its parameters (then `*refused` is its link, counted from 1).
 *
 * Whoever calls this has checked, and nothing here checks again, that
 *   duration is 1 ns to PI2_LONGEST, bin at least 1 ns, packet_size 64 to 65535;
 *   there are 1 to 65535 links, with a buffer of 1 to 10^9 and an ack_jitter of 0 to 2^31 ns;
 *   a full packet takes 1 ns to 2^53 ns at every capacity, and so long are the intervals of sources, and a full
 *   packet of a class at their spacing, if that is not 0; bursts are of 1 to 2^30 bytes, and packets of a class of
 *   64 bytes to those of the run; sources send at least a thousandth of their interval before they pause, if they do;
 *   there are 1 to 65535 classes, with base_rtt, start and start_jitter of 0 to PI2_LONGEST, stop not before start and
 *   up to PI2_LONGEST or PI2_NEVER, initial_window 1 to 10^6, routes of at least one link, with no link twice, up to
 *   10^6 links on all of them together, and hops of at least 0 that add up to base_rtt at most;
 *   sizes of transfers have the numbers that core/sizes.h says, all above 0, and who has them is acknowledged; idle is
 *   finite and at least 0, and gap 0 or finite and at least 1 ns;
 *   changes are in the order of time, from 0 on, and their counts are -1 or numbers of flows;
 *   detours are in the order of time, from 0 on, and leave hops within base_rtt; loss is at least 0 and below 1,
 *   loss_burst 0 or at least 1 and loss / (loss_burst (1 - loss)) at most 1; aggregate is 1 or more, and 1 of htb;
 *   all parameters are numbers, gains at most 10^6 Hz, times 10^-9 to 10^6 s where they cannot be 0.
 * All else may be: bins longer than the run, no flows, flows that come after its end, several changes at one instant.
 * How long a run takes is the caller's concern, and so is memory: some 600 bytes for each flow and 4 for each of its
 * blocks, some 3 KB for each link, and for each class up to 6 KB at each of its links and block, less the shorter the
 * delays are; of blocks there are fewer the more of these there are. */
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
