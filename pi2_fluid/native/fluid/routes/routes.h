/* One trajectory of the fluid model, over one node or several: the compiled sibling of the Python engine's. Pure C11.
 *
 * What class i offers to the nodes of its route one after the other, with q_l the queue of a node, C_l its capacity,
 * tau_l = q_l/C_l and N_i x_i what the class sends, is
 *   A_i1(t) = N_i x_i(t - g_i1),   A_i,k+1(t) = O_ik(t - g_i,k+1),
 *   O_il(t) = C_l A_il(a) / sum_j A_jl(a)  while packets wait, and they came at a, else A_il(t),
 *   dq_l/dt = sum_i A_il - C_l,   R_i = base_rtt_i + sum of tau_l,
 * and what it hears comes from each node by itself, from when its packets left the queue there: at t - b_il(t), where
 * b_il = base_rtt_i - (hops up to l) + sum of tau from l on. First in, first out: the total V_l of what entered tells
 * when that was, V_l(a) = V_l(t) - q_l(t).
 *
 * The method is Runge-Kutta of order 4 whose steps end wherever the equations are not smooth: at ticks, changes and clips,
 * at the delayed images of such instants, and where these images have come to after they have waited in a queue. Of one
 * node it leaves out what that does not need: see `at_once` and `alone` of run.h, and lean.h.
 */
#pragma once

#include "fluid/routes/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pi2_routes pi2_routes;

/* Copies all it needs; NULL if there is no memory. */
pi2_routes *pi2_routes_create(const pi2_routes_problem *problem);
void pi2_routes_destroy(pi2_routes *run);

/* Fills rows *place .. n-1 for the rising times samples[0 .. n-1] (s) and moves *place on, taking at most `most_steps`
 * steps. Call it again after PI2_FLUID_MORE; after any error the run is over. */
int pi2_routes_advance(pi2_routes *run, const double *samples, size_t n, size_t *place, pi2_routes_rows rows,
                       long long most_steps);

/* How far it is (s), and after how many steps. */
double pi2_routes_time(const pi2_routes *run);
long long pi2_routes_steps(const pi2_routes *run);

#ifdef __cplusplus
}
#endif
