/* One step of a trajectory by the clock of acknowledgements. */
#pragma once

#include "fluid/acks/run.h"

/* Takes one towards run->next, and ends it where something happens before. */
void acks_step(pi2_acks *run);
