/* What configures a price, which its queue discipline shares, and its states: see price.c. */
#pragma once

#include "laws/aqm.h"

#define PI2_PRICE_FIELDS(F) \
    F(phi)             /* base of the marking probability */ \
    F(utilization)     /* part of the capacity that flows may have */ \
    F(update_interval) /* s */

typedef struct {
    PI2_PRICE_FIELDS(PI2_FIELD)
} pi2_price;

/* The price (s), and the packets since the last update. */
enum { PI2_PRICE, PI2_PRICE_COUNT };
