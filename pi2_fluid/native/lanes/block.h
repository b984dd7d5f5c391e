/* Inside the lanes kernel: one block of runs, compiled once per instruction set. */
#pragma once

#include "lanes/problem.h"

/* Computes the runs from `begin` on, PI2_LANES of them or as many as are left; and the bytes of its state. */
typedef void pi2_lanes_block_function(const pi2_lanes_problem *problem, size_t begin, size_t depth, double *work,
                                      pi2_lanes_result result);

typedef size_t pi2_lanes_size_function(void);

#define PI2_LANES_BLOCK_FUNCTION(simd) \
    pi2_lanes_block_function pi2_lanes_block_##simd; \
    pi2_lanes_size_function pi2_lanes_size_##simd
