/* What is reported of one instant. */
#pragma once

#include "fluid/run.h"

/* The rows, from i on, of those samples that lie before the end of the last step; returns the first that does not. */
size_t fluid_report_step(pi2_fluid *run, const double *samples, size_t i, size_t n, pi2_fluid_rows rows);
/* Fills a row: the state now, or at an earlier time of the last step. */
void fluid_report(pi2_fluid *run, double t, int earlier, size_t row, pi2_fluid_rows rows);
