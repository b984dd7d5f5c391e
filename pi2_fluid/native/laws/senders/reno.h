/* TCP Reno, and CReno with a smaller decrease: dW/dt = increase/R(t) - decrease W(t) W(t-R)/R(t-R) p(t-R).
 * PI2 paper (CoNEXT'16), equation (15); Misra, Gong, Towsley (SIGCOMM 2000). */
#pragma once

#include "parameters.h"

#define PI2_RENO_FIELDS(F) \
    F(increase) /* segments per round trip */ \
    F(decrease) /* fraction of the window removed per signal */

typedef struct {
    PI2_RENO_FIELDS(PI2_FIELD)
} pi2_reno;

/* Segments per second; signals: W(t-R)/R(t-R) p(t-R), those that one flow hears of per second. */
static inline double pi2_reno_rate(const pi2_reno *law, double window, double signals, double inverse_rtt)
{
    return law->increase * inverse_rtt - law->decrease * window * signals;
}

/* What `acks` and `marks` per second change per second of a window, and return: the cut apart from it. */
static inline double pi2_reno_acked(const pi2_reno *law, double window, double acks, double marks, double *change)
{
    *change = law->increase * acks / window;
    return law->decrease * window * marks;
}
