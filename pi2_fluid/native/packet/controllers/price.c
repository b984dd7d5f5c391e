#include "packet/controllers/price.h"

#include <math.h>

double pi2_price_update(const pi2_price *p, double price, double packets, double capacity, double dt)
{
    const double after = price + packets / (p->utilization * capacity) - dt;
    return after < 0.0 ? 0.0 : after;
}

double pi2_price_encode(double phi, double price)
{
    return -expm1(-price * log(phi));
}
