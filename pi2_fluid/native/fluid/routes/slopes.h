/* The right-hand side: what the present and the past make of the state. */
#pragma once

#include "fluid/routes/run.h"

/* The slopes of the integrated part, for which rates that only others read later are not needed; with those as well; with
 * the slopes of all rates. */
enum { WHAT_MOVES, WITH_RATES, WITH_THEIR_SLOPES };
void routes_slopes(pi2_routes *run, routes_point *at, int what);
/* dW/dt of a class by its law, whatever holds the window; `at` has been looked at. */
double routes_window_slope(pi2_routes *run, int i, routes_point *at);
/* What the comparisons of a class's law look at; the delays of `at` are known. */
void routes_rate_differences(pi2_routes *run, int i, const routes_point *at, double *values);
/* dx/dt of a class that has always been where it is, under a signal. */
void routes_slopes_at_rest(const pi2_routes *run, int i, const routes_point *at, double p, double *slopes);
/* Who matters now. */
void routes_choose(pi2_routes *run);
