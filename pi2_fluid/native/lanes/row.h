/* Inside the lanes kernel: the rows of the past, one per node. */
#pragma once

#include "lanes/problem.h"

enum { PI2_LANES = 32 }; /* runs of a block; measured: 16 to 64 differ by less than a fifth */

/* Where the numbers of one node lie in a row of the past; -1: not kept. */
typedef struct {
    int queue, per_capacity, signal[2], end[2], window[PI2_LANES_CLASSES], fields;
    int more[PI2_LANES_CLASSES][PI2_LANES_STATES - 1];
} pi2_lanes_row;

/* Whether the two kinds of senders are sent different signals. */
static inline int pi2_lanes_has_two_signals(const pi2_lanes_problem *p)
{
    return p->encoder == PI2_LANES_COUPLED || p->encoder == PI2_LANES_TAPED_QUEUE;
}

pi2_lanes_row pi2_lanes_layout(const pi2_lanes_problem *problem);

/* Doubles of `depth` rows; the state of the block lies behind them. */
size_t pi2_lanes_past(const pi2_lanes_problem *problem, size_t depth);
