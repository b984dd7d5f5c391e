/* Delayed images of breakpoints: what readers pass at the end of a step. */
#pragma once

#include "fluid/routes/run.h"

/* Of which order the breakpoints are that readers pass, in `order`, -1: none; returns whether one is a jump. */
int routes_find_passed(pi2_routes *run);
/* Moves those on who pass a breakpoint, beyond stretches in which nothing entered a queue as well. */
void routes_move_on(pi2_routes *run);
/* A jump of derivative n of the signal flow is one of derivative n + 1 of the windows that it reaches, and, through
 * the queue, of derivative n + 2 of all others. Steps of a fixed length through one node end at all up to the second. */
void routes_mark_images(pi2_routes *run, int jumps);
