#include "packet/controllers/avq.h"

#include <math.h>

/* What a load or a virtual capacity is taken for that is 0; and within which a load is 1. */
static const double NOTHING = 1e-30, AT_ONE = 1e-12;

static double at_least_nothing(double x)
{
    return x > NOTHING ? x : NOTHING;
}

/* What the virtual queue loses of what arrives at that load. */
static double lost(const pi2_avq *p, double load)
{
    double x, size;
    load = at_least_nothing(load);
    if (p->overflow != 0.0)
        return load > 1.0 ? 1.0 - 1.0 / load : 0.0;
    x = log(load);
    size = fabs(x) > AT_ONE ? fabs(x) : AT_ONE;
    return exp(p->buffer * (x < 0.0 ? x : 0.0)) * expm1(-size) / expm1(-(p->buffer + 1.0) * size);
}

double pi2_avq_signalled(const pi2_avq *p, double part)
{
    part = part < 0.0 ? 0.0 : part > 1.0 ? 1.0 : part;
    return lost(p, p->utilization / at_least_nothing(part));
}
