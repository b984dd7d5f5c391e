#include "desk/zero.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

enum { MOST_STEPS = 2000 };

static double sign_of(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
}

double pi2_find_zero_from(pi2_of_one_number *function, void *of, double low, double f_low, double high, double f_high,
                          double *before, double *after)
{
    /* 1 is the newest point, 2 that on the other side, 3 the one before. */
    double x1 = low, f1 = f_low, x2 = high, f2 = f_high, t = 0.5;
    double best = NAN;
    for (int step = 0; step < MOST_STEPS; step++) {
        const int first = fabs(f1) < fabs(f2);
        best = first ? x1 : x2;
        if (fabs(first ? f1 : f2) <= DBL_MIN)
            break;
        if (!(sign_of(f1) != sign_of(f2)) || isnan(f1) || isnan(f2) || !isfinite(x1) || !isfinite(x2))
            return NAN;
        const double apart = fabs(x2 - x1), tolerance = fabs(best) * 4.0 * DBL_EPSILON + 4.0 * DBL_MIN;
        if (apart < tolerance)
            break;
        if (step) {
            const double least = 0.5 * tolerance / apart;
            t = t < least ? least : t > 1.0 - least ? 1.0 - least : t;
        }
        const double x = x1 + t * (x2 - x1), f = function(of, x);
        double x3, f3;
        if (sign_of(f) == sign_of(f1)) {
            x3 = x1;
            f3 = f1;
        } else {
            x3 = x2;
            f3 = f2;
            x2 = x1;
            f2 = f1;
        }
        x1 = x;
        f1 = f;
        const double xi = (x1 - x2) / (x3 - x2), phi = (f1 - f2) / (f3 - f2), alpha = (x3 - x1) / (x2 - x1);
        t = 0.5;
        if (1.0 - sqrt(1.0 - xi) < phi && phi < sqrt(xi))
            t = f1 / (f1 - f2) * f3 / (f3 - f2) - alpha * f1 / (f3 - f1) * f2 / (f2 - f3);
    }
    if (before && after) {
        *before = x1 < x2 ? f1 : f2;
        *after = x1 < x2 ? f2 : f1;
    }
    return best;
}

double pi2_find_zero(pi2_of_one_number *function, void *of, double low, double high)
{
    return pi2_find_zero_from(function, of, low, function(of, low), high, function(of, high), NULL, NULL);
}
