/* The discrete state. */
#pragma once

#include "fluid/run.h"

/* The present mode, to be changed. */
fluid_mode *fluid_change_mode(pi2_fluid *run);
void fluid_set_bound(pi2_fluid *run, int k, int bound);
/* Holds every bound that stops the motion, and no other. Nobody is in slow start while the buffer is full: a flow that
 * starts then leaves it at once. */
void fluid_hold_bounds(pi2_fluid *run);
/* Finds, for each moving state of the controller, the direction in which a clip holds it. */
void fluid_clips(pi2_fluid *run);
/* The delay has jumped with the capacity; a controller in continuous time, which follows the delay, jumps too. */
void fluid_jump(pi2_fluid *run, double tau_before, const pi2_seen *seen_before);
void fluid_end_slow_start(pi2_fluid *run, int i);
