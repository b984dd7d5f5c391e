/* One step, to the next event or image at the latest. */
#pragma once

#include "fluid/routes/run.h"

void routes_step(pi2_routes *run);
