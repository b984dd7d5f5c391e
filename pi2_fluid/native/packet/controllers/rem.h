/* REM: a price of what arrives too much and of the queue, of which packets are signalled with 1 - phi^-price.
 * Athuraliya, Low, Li, Yin, "REM: Active Queue Management" (IEEE Network, 2001); units and order of ns-2. */
#pragma once

#include "parameters.h"

#define PI2_REM_FIELDS(F) \
    F(gamma)           /* of the price, per packet that arrives too much */ \
    F(phi)             /* base of the probability */ \
    F(alpha)           /* what a packet of queue counts for, in packets that arrive too much */ \
    F(target)          /* packets */ \
    F(weight)          /* of one interval in the average of arrivals; 1: no average */ \
    F(update_interval) /* s */

typedef struct {
    PI2_REM_FIELDS(PI2_FIELD)
} pi2_rem;

enum { PI2_REM_PRICE, PI2_REM_AVERAGE, PI2_REM_COUNT, PI2_REM_STATES };

/* One update, at such a queue (packets) and capacity (packets/s). */
void pi2_rem_update(const pi2_rem *p, double *state, double queue, double capacity);
