/* What sampling adds up of loops by the rate clock: their response at all the aliases s_k = s + 2 pi j k/T of a
 * frequency. Pure C11.
 *
 * The aliases -count - 1 <= k <= count, pairs about pi/T, are summed as they are. Beyond them the response is its leading
 * terms at large s, whose sums over all aliases are known in closed form. Complex numbers are pairs of doubles.
 */
#pragma once

#include <stddef.h>

#include "margins/aliases/linear_class.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All that does not depend on s. */
typedef struct pi2_linear_sums pi2_linear_sums;

/* `simd` is an index of pi2_simd_name (0: the fastest). NULL if memory lacks or there is no such. */
pi2_linear_sums *pi2_linear_sums_make(int simd, size_t classes, const pi2_linear_class *cls, size_t echoes,
                                      const pi2_echo *echo, double interval, size_t count);
void pi2_linear_sums_free(pi2_linear_sums *sums);

/* How many pairs of aliases a sketch of the sums needs: a quarter, and no lane idle. */
static inline size_t pi2_rough_aliases(size_t count)
{
    return 4 * ((count + 15) / 16) - 1;
}

/* (1/T) times the sum over all k of G(s_k)/s_k, at n points; `s` and `values` hold n pairs. Returns 0 if memory lacks. */
int pi2_linear_sums_at(const pi2_linear_sums *sums, size_t n, const double *s, double *values);

#ifdef __cplusplus
}
#endif
