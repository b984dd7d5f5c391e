/* One step of a trajectory by the clock of acknowledgements. */
#pragma once

#include "fluid/acks/run.h"

/* Takes one towards run->next, and ends it where something happens before. */
void acks_step(pi2_acks *run);
/* What packets of each class see now, where packets come at a rate (packets/s); the same of a queue that sees this. */
void acks_signal(pi2_acks *run, double rate);
void acks_signal_by(pi2_acks *run, const pi2_seen *seen);
/* The part of steady traffic that enters the queue. */
void acks_thin(pi2_acks *run);
