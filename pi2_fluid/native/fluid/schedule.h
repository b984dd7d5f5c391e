/* What happens when, whatever the state. */
#pragma once

#include "fluid/run.h"

void fluid_schedule(pi2_fluid *run, const pi2_fluid_problem *problem);
/* Finds when the next thing happens after now, the end of the run at the latest. */
void fluid_look_ahead(pi2_fluid *run);
int fluid_changes_now(const pi2_fluid *run);
int fluid_ticks_now(const pi2_fluid *run);
void fluid_take_changes(pi2_fluid *run);
void fluid_next_tick(pi2_fluid *run);
/* What somebody adds to the controller's variable before the next tick. */
double fluid_push(const pi2_fluid *run);
