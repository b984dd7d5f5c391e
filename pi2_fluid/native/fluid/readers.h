/* Where the groups read the past, all of them. */
#pragma once

#include "fluid/run.h"

/* Whether a jump of a slope of y, acting for a time, is more than the tolerance lets pass. */
static inline int fluid_matters(const pi2_fluid *run, double jump, double time, double y)
{
    return fabs(jump) * time > 0.1 * run->tolerance * (fabs(y) + 0.1);
}

/* Notes for a group, or for all, that derivative `order` jumps now. */
void fluid_mark(pi2_fluid *run, int group, int order);
void fluid_mark_all(pi2_fluid *run); /* order 0 */
/* Goes to where everyone reads after delays have jumped. */
void fluid_seek(pi2_fluid *run);
/* Finds their stretches anew. */
void fluid_stretches(pi2_fluid *run);
