/* The scalable law, a fixed part of a segment less per mark: dW/dt = 1/R(t) - per_mark W(t-R)/R(t-R) p(t-R).
 * PI2 paper (CoNEXT'16), equation (22). */
#pragma once

#include "parameters.h"

#define PI2_SCALABLE_FIELDS(F) F(per_mark) /* segments removed per mark */

typedef struct {
    PI2_SCALABLE_FIELDS(PI2_FIELD)
} pi2_scalable;

/* Segments per second; signals: W(t-R)/R(t-R) p(t-R), those that one flow hears of per second. */
static inline double pi2_scalable_rate(const pi2_scalable *law, double signals, double inverse_rtt)
{
    return inverse_rtt - law->per_mark * signals;
}

/* What `acks` and `marks` per second change per second of a window, and return: the cut apart from it. */
static inline double pi2_scalable_acked(const pi2_scalable *law, double window, double acks, double marks,
                                        double *change)
{
    *change = acks / window;
    return law->per_mark * marks;
}
