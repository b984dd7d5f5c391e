/* Inside the lanes kernel: one block of runs, compiled once per instruction set. */
#ifndef PI2_FLUID_LANES_BLOCK_H
#define PI2_FLUID_LANES_BLOCK_H

#include "lanes/lanes.h"

enum { PI2_LANES = 32 }; /* runs of a block; measured: 16 to 64 differ by less than a fifth */

/* Where the numbers of one node lie in a row of the past; -1: not kept. */
typedef struct {
    int queue, per_capacity, signal[2], end[2], window[PI2_LANES_CLASSES], fields;
} pi2_lanes_row;

pi2_lanes_row pi2_lanes_layout(const pi2_lanes_problem *problem);

/* Doubles of `depth` rows; the state of the block lies behind them. */
size_t pi2_lanes_past(const pi2_lanes_problem *problem, size_t depth);

/* Computes the runs from `begin` on, PI2_LANES of them or as many as are left; and the bytes of its state. */
typedef void pi2_lanes_block_function(const pi2_lanes_problem *problem, size_t begin, size_t depth, double *work,
                                      pi2_lanes_result result);

typedef size_t pi2_lanes_size_function(void);

#define PI2_LANES_BLOCK_FUNCTION(simd) \
    pi2_lanes_block_function pi2_lanes_block_##simd; \
    pi2_lanes_size_function pi2_lanes_size_##simd

#endif
