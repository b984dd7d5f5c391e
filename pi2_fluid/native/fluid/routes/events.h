/* State events of each node and class. */
#pragma once

#include "fluid/routes/run.h"

/* Lists in run->events what the trial step has passed; returns how many. */
int routes_crossed(pi2_routes *run);
/* Where in the trial step an event lies (part of it), by the cubic through its ends. */
double routes_locate(pi2_routes *run, const routes_event *event);
/* The slope of the event's own function at the end of the trial step (per s), and its value there. */
double routes_speed(pi2_routes *run, const routes_event *event, double *now);
void routes_apply_event(pi2_routes *run, const routes_event *event);
