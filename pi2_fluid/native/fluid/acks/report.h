/* What a trajectory by the clock of acknowledgements reports. */
#pragma once

#include "fluid/acks/run.h"

/* Fills row `place`, of a time (s) not after the newest node and after the one before; `at_node`: that of the newest. */
void acks_report(const pi2_acks *run, double sample, int at_node, size_t place, pi2_routes_rows rows);
