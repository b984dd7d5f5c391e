/* The discrete state: which bounds hold, who is in slow start, what a jump of a capacity does. */
#pragma once

#include "fluid/routes/run.h"

/* The present mode, free to be changed. */
routes_mode *routes_change_mode(pi2_routes *run);
static inline void routes_set_capacity(routes_link *link, double capacity)
{
    link->capacity = capacity;
    link->per_packet = 1.0 / capacity;
}
void routes_set_bound(pi2_routes *run, int k, int bound);
/* The same of all queues of a node that are held in one way. */
void routes_set_bounds(pi2_routes *run, int l, int from, int to);
/* Holds every bound that stops the motion, and no other. */
void routes_hold_bounds(pi2_routes *run);
void routes_hold_clips(pi2_routes *run, int l);
/* What the jump of a queue delay does to a controller that moves by its flow. */
void routes_jump(pi2_routes *run, int l, double by, const pi2_seen *before);
void routes_end_slow_start(pi2_routes *run, int i);
/* The same for all who cross a node. */
void routes_end_slow_starts(pi2_routes *run, int l);
