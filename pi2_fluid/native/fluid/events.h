/* State events. */
#pragma once

#include "fluid/run.h"

/* Lists the events that the trial step has passed; returns how many. */
int fluid_crossed(pi2_fluid *run);
/* At which part of the trial step the event comes (regula falsi, Illinois). */
double fluid_locate(pi2_fluid *run, const fluid_event *event);
/* The event's value at the end of the trial step, and how fast it changes there. */
double fluid_speed(pi2_fluid *run, const fluid_event *event, double *value);
/* Changes the mode, and puts the state exactly on the bound that it has reached. */
void fluid_apply_event(pi2_fluid *run, const fluid_event *event);
