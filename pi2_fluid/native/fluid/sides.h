/* Sides: the answers of the laws' comparisons, held while a step is made, so that the equations stay smooth in it. Where
 * an answer would change, the step ends.
 *
 * Those of the queue belong to the mode, as readers of the past need those of then; those of senders are of the present:
 * fluid_sides and fluid_rate_sides of run.h.
 */
#pragma once

#include "fluid/run.h"

/* What the comparisons of class `k` look at, or of the queue (k: how many classes there are): positive on the side that
 * is held. Returns how many there are, 0 if the class does not listen now. */
int fluid_distances(pi2_fluid *run, int k, double t, const double *y, const fluid_view *view, double *distances);
/* Let the queue's comparisons hold the answers that they have now; returns whether some are others than before. */
int fluid_take_queue_sides(pi2_fluid *run);
/* The same of the senders', which look back: their stretches are those of now. */
void fluid_take_rate_sides(pi2_fluid *run);
/* Turns one over. */
void fluid_turn_side(pi2_fluid *run, int k, int number);
