/* What happens when, whatever the state: ticks of the nodes, changes of load and capacity. */
#pragma once

#include "fluid/routes/run.h"

void routes_schedule(pi2_routes *run, const pi2_routes_problem *problem);
/* Finds the next instant at which something is scheduled. */
void routes_look_ahead(pi2_routes *run);
int routes_changes_now(const pi2_routes *run);
int routes_ticks_now(const pi2_routes *run, const routes_node *node);
void routes_take_changes(pi2_routes *run);
/* What is added to a controller's variable before its tick. */
double routes_push(const routes_node *node);
