/* How fast the rates of an instant change, and delays. */
#pragma once

#include "fluid/routes/run.h"

/* How fast delays change. */
void routes_delay_slopes(const pi2_routes *run, routes_point *at);
/* How fast what is sent, enters and leaves changes; with the delays that depend on it. */
void routes_rate_slopes(pi2_routes *run, routes_point *at);
