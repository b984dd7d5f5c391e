/* One trajectory by the clock of acknowledgements, over one link or several: the compiled twin of
 * pi2_fluid/engines/fluid/acks. Pure C11.
 *
 * Until t, class i has sent A_i. Of it A_ik has come to the k-th link of its way, of which D_ik has left, and K_i is
 * acknowledged, with hops h_ik and the way back b_i:
 *   A_i(t) = max(A_i before, K_i(t) + count_i W_i(t)),   A_i1(t) = A_i(t - h_i1),   A_ik(t) = D_i,k-1(t - h_ik),
 *   D(t) = min(A(t), D before + what the link could serve),   D_ik(t) = A_ik(u), with A(u) = D(t),
 *   K_i(t) = D_i,last(t - b_i),
 * in steps of order 2 that end at ticks and changes, and where a queue empties, a buffer fills, a silent sender resumes
 * or slow start is over. The same decisions as the twin, and the same operations.
 */
#pragma once

#include "fluid/acks/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pi2_acks pi2_acks;

/* Copies all it needs; NULL if there is no memory. */
pi2_acks *pi2_acks_create(const pi2_acks_problem *problem);
void pi2_acks_destroy(pi2_acks *run);

/* Fills rows *place .. n-1 for the rising times samples[0 .. n-1] (s) and moves *place on, taking at most `most_steps`
 * steps. Call it again after PI2_FLUID_MORE; after any error the run is over. */
int pi2_acks_advance(pi2_acks *run, const double *samples, size_t n, size_t *place, pi2_routes_rows rows,
                     long long most_steps);

/* How far it is (s), and after how many steps. */
double pi2_acks_time(const pi2_acks *run);
long long pi2_acks_steps(const pi2_acks *run);
/* How many instants of the past it keeps. */
size_t pi2_acks_kept(const pi2_acks *run);

/* Of each class, what has been sent and is acknowledged until now; of each visit, class by class, what has come, with
 * what found no room, and has left; of each queue, what has really come, and what has found no room there or on the way
 * to it (packets). */
typedef struct {
    double *sent, *acked, *came, *left, *arrived, *lost;
} pi2_acks_counts;
void pi2_acks_count(pi2_acks *run, pi2_acks_counts counts);

#ifdef __cplusplus
}
#endif
