/* What happens at the end of a step. */
#pragma once

#include "fluid/run.h"

/* Does what is scheduled for now: first the changes, then the tick. Returns whether the slopes have changed. */
int fluid_happen(pi2_fluid *run, int event, int signalled);
/* Does all that happens now, after a step whose slopes at the end are run->now->f. */
void fluid_arrive(pi2_fluid *run, const fluid_event *event, int images);
