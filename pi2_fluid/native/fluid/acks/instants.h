/* Instants that are known beforehand: ticks of controllers, changes of capacities, starts and stops. */
#pragma once

#include "fluid/acks/run.h"

/* Collects them; returns 0 when there is no memory. */
int acks_collect(pi2_acks *run);
/* Finds the next. */
void acks_look_ahead(pi2_acks *run);
/* Lets happen what happens at run->next, where the trajectory has come to. */
void acks_happen(pi2_acks *run);
