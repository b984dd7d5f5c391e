/* What sampling adds up of the loops of a design: their response at all the aliases s_k = s + 2 pi j k/T of a frequency. Pure C11.
 *
 * The aliases -count - 1 <= k <= count, pairs about pi/T, are summed as they are. Beyond them the response is its leading
 * terms at large s, whose sums over all aliases are known in closed form. Complex numbers are pairs of doubles.
 */
#pragma once

#include <stddef.h>

#include "margins/aliases/design_loop.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sum of the response over all aliases, at the same n frequencies `w` (rad/s) for each of `loops`, or at n of its
 * own if `each`; `sums` holds loops * n pairs. Returns 0 if memory lacks. */
int pi2_design_alias_sums(size_t loops, const pi2_design_loop *loop, double interval, size_t count, size_t n, int each,
                          const double *w, double *sums);

#ifdef __cplusplus
}
#endif
