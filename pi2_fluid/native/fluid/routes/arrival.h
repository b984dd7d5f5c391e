/* What happens at the end of a step. */
#pragma once

#include "fluid/routes/run.h"

/* Changes and ticks that are due, and slow starts that have ended; returns whether slopes have changed. */
int routes_happen(pi2_routes *run, int signalled);
/* All that happens now: an event (NULL: none), images of breakpoints that readers pass, what is scheduled. */
void routes_arrive(pi2_routes *run, const routes_event *event, int images);
