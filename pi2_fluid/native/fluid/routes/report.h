/* What is reported of one instant. */
#pragma once

#include "fluid/routes/run.h"

/* Fills a row with what holds at t, now or earlier in the last step. */
void routes_report(pi2_routes *run, double t, int earlier, size_t row, pi2_routes_rows rows);
