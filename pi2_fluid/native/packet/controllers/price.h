/* Price: integrates how much more arrives than should, of which packets are marked with 1 - phi^-price. Paganini, Wang,
 * Low, Doyle (2002), equations (5), (21) and (28). */
#pragma once

#include "parameters.h"

#define PI2_PRICE_FIELDS(F) \
    F(phi)             /* base of the marking probability */ \
    F(utilization)     /* part of the capacity that flows may have */ \
    F(update_interval) /* s */

typedef struct {
    PI2_PRICE_FIELDS(PI2_FIELD)
} pi2_price;

/* The price (s) `dt` seconds later, in which so many packets came, at so many packets/s of capacity. */
double pi2_price_update(const pi2_price *p, double price, double packets, double capacity, double dt);
/* The probability of marks of a price: 1 - phi^-price. */
double pi2_price_encode(double phi, double price);
