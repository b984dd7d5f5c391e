/* Proportional rate reduction (RFC 6937), as a function of numbers. */
#pragma once

#include <stdint.h>

/* All in segments. */
typedef struct {
    int64_t ssthresh;
    int64_t prior_window;     /* RecoverFS: window when the reduction began, > 0 */
    int64_t in_flight;        /* pipe, with this acknowledgement counted */
    int64_t delivered;        /* DeliveredData of this acknowledgement */
    int64_t delivered_in_all; /* prr_delivered */
    int64_t sent;             /* prr_out */
    int safe;                 /* the acknowledgement moves on and tells of no further loss: one more (SSRB) */
} pi2_prr_state;

/* How many segments may be sent now. */
int64_t pi2_prr(const pi2_prr_state *now);
