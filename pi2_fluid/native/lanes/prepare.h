/* What a problem with tapes needs before it is solved. */
#pragma once

#include "lanes/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many registers an operation of a tape reads. */
int pi2_lanes_operands(int code);

/* Lays out what the tapes of a problem work with; comes first. */
void pi2_lanes_prepare(pi2_lanes_problem *problem);

#ifdef __cplusplus
}
#endif
