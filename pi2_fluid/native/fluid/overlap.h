/* Steps that are longer than a delay, and so read themselves: at first as the step before foretells it, then as it has
 * come out, until both are the same. */
#pragma once

#include "fluid/run.h"

/* Whether what a step reads of itself can be foretold: steps adapt, and the step before ended at nothing. */
int overlap_is_allowed(const pi2_fluid *run);
/* From here on, until overlap_end, the step in the making can be read. The past has room for it. */
void overlap_begin(pi2_fluid *run);
void overlap_end(pi2_fluid *run);
/* Goes on with the cubic of the step before. */
void overlap_foretell(pi2_fluid *run);
/* Whether the trial step, of length h, is what it has read of itself; it is what is read from now on. */
int overlap_agrees(pi2_fluid *run, double h);
