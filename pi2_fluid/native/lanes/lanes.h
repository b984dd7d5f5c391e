/* Trajectories of the fluid model, many runs of one scenario side by side. Pure C11.
 *
 * The method of pi2_fluid/engines/fluid/lanes/stepping.py, operation by operation: equal steps, whose nodes all ticks and
 * changes fall on, and order 2. Laws: Reno and CReno, scalable, constant bit rate, and any other sender as tapes; PI, PIE,
 * PI2, coupled.
 * The results of one run depend on neither the other runs nor the instruction set, to the last bit.
 */
#pragma once

#include "lanes/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Doubles of memory that pi2_lanes needs to keep `depth` nodes, a power of two. */
size_t pi2_lanes_work(const pi2_lanes_problem *problem, size_t depth);

/* Computes all runs. `simd` is an index of pi2_simd_name (0: the fastest), `work` is aligned to 64 bytes.
 * Where (base RTT + DEEPEST) / h + 4 exceeds depth, the past was too short and the results are void. */
void pi2_lanes(int simd, const pi2_lanes_problem *problem, size_t depth, double *work, pi2_lanes_result result);

#ifdef __cplusplus
}
#endif
