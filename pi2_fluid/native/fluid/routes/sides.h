/* Sides: the answers of the laws' comparisons, held while a step is made, so that the equations stay smooth in it. Where
 * an answer would change, the step ends. Those of queues belong to the mode, as readers of the past need those of then; those of senders are of the present. Whoever compares has a number:
 * nodes come first, then classes.
 */
#pragma once

#include "fluid/routes/run.h"

/* What the comparisons of number `k` look at, in run->distances: positive on the side that is held. Returns how many there
 * are, 0 of a class that does not listen now. Of a point whose rates and delays are known. */
int routes_distances(pi2_routes *run, int k, routes_point *at);
/* Let the comparisons of nodes, or of classes, hold the answers that they have now; whether some are others than before. */
int routes_take_sides(pi2_routes *run);
void routes_take_rate_sides(pi2_routes *run);
/* Turns one over. */
void routes_turn_side(pi2_routes *run, int k, int number);
