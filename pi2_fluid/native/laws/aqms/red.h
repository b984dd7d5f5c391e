/* What configures RED's law, which its queue discipline shares: see red.c. */
#pragma once

#include "laws/aqm.h"

#define PI2_RED_FIELDS(F) \
    F(min)             /* packets */ \
    F(max)             /* packets */ \
    F(max_p)           /* probability at max */ \
    F(weight)          /* of one packet in the average */ \
    F(gentle)          /* 1: rises to 1 between max and twice max; 0: jumps there */ \
    F(adaptive)        /* 1: max_p is adapted */ \
    F(update_interval) /* s between two adaptations; INFINITY: none */

typedef struct {
    PI2_RED_FIELDS(PI2_FIELD)
} pi2_red;
