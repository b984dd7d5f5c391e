/* RED: every packet moves an average of the queue, and a profile turns it into a probability; adaptive RED moves the
 * profile. Floyd and Jacobson (1993); Floyd, Gummadi, Shenker, "Adaptive RED" (2001). */
#pragma once

#include "parameters.h"

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

enum { PI2_RED_AVERAGE, PI2_RED_MAX_P, PI2_RED_STATES };

/* max_p after an adaptation; */
double pi2_red_adapted(const pi2_red *p, const double *state);
/* the probability p_b at the average. */
double pi2_red_signalled(const pi2_red *p, const double *state);
