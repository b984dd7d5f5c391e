/* Rates of one instant: what is sent, enters the nodes and leaves them, along each route. */
#pragma once

#include "fluid/routes/run.h"

/* All rates, or those that what moves depends on. What a dual queue gets while the other is empty depends on what arrives
 * there, and that on how long it waits elsewhere. */
void routes_find_rates(pi2_routes *run, routes_point *at, int all);
/* Delays, and what is sent, enters and leaves, from the integrated part of the state. */
void routes_look(pi2_routes *run, routes_point *at);
/* Whether what leaves a queue now entered it now. */
int routes_passes(const pi2_routes *run, int k);
/* What comes to a node over the hop before it. */
double routes_coming(const pi2_routes *run, const routes_visit *v, const routes_point *at);
