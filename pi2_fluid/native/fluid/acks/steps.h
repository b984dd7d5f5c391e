/* One step of a trajectory by the clock of acknowledgements. */
#pragma once

#include "fluid/acks/run.h"

/* Takes one towards run->next, and ends it where something happens before. */
void acks_step(pi2_acks *run);
/* What packets of each class see now, and the part of steady traffic that enters the queue. */
void acks_signal(pi2_acks *run, double rate);
void acks_thin(pi2_acks *run);
