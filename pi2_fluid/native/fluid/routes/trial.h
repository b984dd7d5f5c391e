/* One step of the Runge-Kutta method, which may still be rejected. */
#pragma once

#include "fluid/routes/run.h"

/* What is read of the step to come until it is tried: as the step before went on, or straight on after an event. */
void routes_foresee(pi2_routes *run);
void routes_try(pi2_routes *run, double h);
