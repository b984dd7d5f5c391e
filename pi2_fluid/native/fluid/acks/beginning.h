/* The time before 0, and where everything has its place. */
#pragma once

#include "fluid/acks/run.h"

/* Gives classes, passages, queues and links their numbers and their columns, and the past its rows of before time 0.
 * Returns 0 when there is no memory. */
int acks_begin(pi2_acks *run, const pi2_acks_problem *problem);
