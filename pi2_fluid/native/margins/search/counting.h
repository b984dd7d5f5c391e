/* Modes that grow, counted along followed curves. pi2_fluid/loop/roots.py and acks/roots.py say what is done here, and why.
 * Pure C11.
 */
#pragma once

#include "margins/search/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeros on the right of a function on the axis that tends to 1 at high frequency, has so many factors that may turn by
 * themselves, and the loop's delays. PI2_ON_CONTOUR: one lies on the axis. */
pi2_outcome pi2_count_right(const pi2_loop *loop, const pi2_curve *curve, double degree, pi2_searching *room, int *count);

/* The same of a sampled controller's denominator times 1 + L, on the right of the unit circle. */
pi2_outcome pi2_count_sampled(const pi2_loop *loop, const pi2_curve *denominator, pi2_searching *room, int *count);

/* The same in the half strip |Im s| < reach, where a function tends to a positive number to the right; `across` is the
 * function at x + j reach. */
pi2_outcome pi2_count_strip(const pi2_loop *loop, const pi2_curve *along, const pi2_curve *across, pi2_searching *room,
                            int *count);

#ifdef __cplusplus
}
#endif
