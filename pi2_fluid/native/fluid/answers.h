/* What the answer of a comparison is, and how far it is from being another one. */
#pragma once

#include <math.h>

#include "laws/operations.h"

/* By what it looks at, a - b of a < b. */
static inline signed char answer_of(int code, double difference)
{
    return code == PI2_TAPE_EQUAL        ? difference == 0.0
           : code == PI2_TAPE_LESS_EQUAL ? difference <= 0.0
                                         : difference < 0.0;
}

/* Positive on the side that is held. Two that are the same without staying so are on neither. */
static inline double answer_distance(int code, double difference, int held)
{
    if (code == PI2_TAPE_EQUAL)
        return held ? -fabs(difference) : 1.0;
    return held ? -difference : difference;
}
