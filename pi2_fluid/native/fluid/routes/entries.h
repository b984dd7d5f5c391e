/* When what leaves a queue now entered it: first in, first out. */
#pragma once

#include "fluid/routes/run.h"

/* Where in a segment that lasts `whole` (s) what entered a queue reaches `total`. */
double routes_reaches(const pi2_routes *run, const double *cubics, int component, double total, double whole);
/* Leads a queue's reader, within its stretch, to when as many packets had entered as have left now. */
void routes_find_entry(pi2_routes *run, const routes_queue *queue, double gone);
