/* What is reported of one instant. */
#pragma once

#include "fluid/routes/run.h"

/* Fills the rows of samples[i .. n-1] (s) that lie in the last step, or now; returns the first that does not. */
size_t routes_report(pi2_routes *run, const double *samples, size_t i, size_t n, pi2_routes_rows rows);
