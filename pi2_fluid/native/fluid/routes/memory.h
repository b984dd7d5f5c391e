/* The memory of a run, in two parts: called twice each, to count it and to give it out. */
#pragma once

#include "fluid/pool.h"
#include "fluid/routes/run.h"

/* What is known to be needed before anything is laid out. */
void routes_take_parts(pool *p, pi2_routes *run);
/* What depends on how many components and comparisons there are. */
void routes_take_numbers(pool *p, pi2_routes *run, int changes);
