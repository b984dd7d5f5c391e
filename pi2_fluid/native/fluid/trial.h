/* A step that may still be rejected. */
#pragma once

#include "fluid/run.h"

/* Takes a step of length h to run->trial, and unless it is to be `whole` without all slopes at its end and its error. */
void fluid_try(pi2_fluid *run, double h, int whole);
/* The slopes at the end of the trial step, if they are not there yet. */
void fluid_complete(pi2_fluid *run);
