/* Nodes, classes, visits, readers and components of a run, and the memory they need. */
#pragma once

#include "fluid/routes/run.h"

/* Returns 0 when there is no memory. */
int routes_lay_out(pi2_routes *run, const pi2_routes_problem *problem);
