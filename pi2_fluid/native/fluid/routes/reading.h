/* Who looks back at what: the readers of a run, and the components that each of them reads. */
#pragma once

#include "fluid/routes/run.h"

/* Of hops, of queues from which packets go on, and of what classes hear; those with one delay share one. */
void routes_make_readers(pi2_routes *run, const pi2_routes_problem *problem);
/* What each reader reads. */
void routes_list_reads(pi2_routes *run);
