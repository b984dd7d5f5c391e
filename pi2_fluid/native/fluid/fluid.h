/* One trajectory of the fluid model: the compiled twin of pi2_fluid/engines/fluid/integration.py. Pure C11.
 *
 * With q the queue, C the capacity, R_i = base_rtt_i + tau the round-trip time of class i and d_i = t - R_i(t),
 *   dx_i/dt = rate(x_i(t), x_i(d_i), p_i(d_i), R_i(t), R_i(d_i)),
 *   dq/dt = sum of count_i sending_rate(x_i, R_i) - C,   0 <= q <= buffer,
 * by a Runge-Kutta method of order 4 whose steps end wherever the equations are not smooth: at ticks, changes, clips,
 * and at the delayed images of all these. The same decisions as the twin, so the same mesh.
 */
#pragma once

#include "fluid/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pi2_fluid pi2_fluid;

/* Copies all it needs; NULL if there is no memory. */
pi2_fluid *pi2_fluid_create(const pi2_fluid_problem *problem);
void pi2_fluid_destroy(pi2_fluid *run);

/* Fills rows *place .. n-1 for the rising times samples[0 .. n-1] (s) and moves *place on, taking at most `most_steps`
 * steps. Call it again after PI2_FLUID_MORE; after any error the run is over. */
int pi2_fluid_advance(pi2_fluid *run, const double *samples, size_t n, size_t *place, pi2_fluid_rows rows,
                      long long most_steps);

/* How far it is (s), and after how many steps. */
double pi2_fluid_time(const pi2_fluid *run);
long long pi2_fluid_steps(const pi2_fluid *run);

#ifdef __cplusplus
}
#endif
