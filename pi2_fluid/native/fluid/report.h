/* What is reported of one instant. */
#pragma once

#include "fluid/run.h"

/* Fills a row: the state now, or at an earlier time of the last step. */
void fluid_report(pi2_fluid *run, double t, int earlier, size_t row, pi2_fluid_rows rows);
