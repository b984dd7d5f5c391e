/* One step. */
#pragma once

#include "fluid/run.h"

/* Takes one step, to the next event at the latest, and does what happens there. */
void fluid_step(pi2_fluid *run);
