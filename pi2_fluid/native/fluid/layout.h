/* Classes, groups and components of a run, and the memory they need. */
#pragma once

#include "fluid/run.h"

/* Finds room for everything whose size the problem decides; returns 0 when there is none. */
int fluid_lay_out(pi2_fluid *run, const pi2_fluid_problem *problem);
