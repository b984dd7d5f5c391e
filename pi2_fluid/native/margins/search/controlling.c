#include "margins/search/controlling.h"

#include <math.h>

double pi2_controller_lag(const pi2_controller *controller)
{
    return controller->update == PI2_DELAYED ? controller->interval / 2.0 : 0.0;
}

double pi2_controller_end(const pi2_controller *controller)
{
    return controller->update == PI2_SAMPLED ? PI2_PI / controller->interval : INFINITY;
}

static double size_at(const pi2_controller *controller, double w)
{
    const number x = controller_variable(controller, w);
    const number found = over(controller_top(controller, x), controller_bottom(controller, x));
    return controller->update == PI2_SAMPLED ? hypot(found.re, found.im) * hypot(x.re, x.im) : hypot(found.re, found.im);
}

static double largest(const pi2_controller *controller, double w)
{
    enum { POINTS = 200 };
    const int sampled = controller->update == PI2_SAMPLED;
    const double end = sampled ? pi2_controller_end(controller) : 1e6 * w;
    /* |top|^2 and |bottom|^2 of first degree are linear in w^2, or in cos wT, of which their quotient is monotone; if it is
     * sampled, of an integrator alone, whose quotient with 1 - y is a number. */
    if (controller->degree <= 1 && (!sampled || controller->bottom[0] == 0.0))
        return fmax(size_at(controller, w), size_at(controller, end));
    double most = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double part = (double)i / (POINTS - 1);
        const double v = sampled ? w + part * (end - w) : w * pow(end / w, part);
        most = fmax(most, size_at(controller, v));
    }
    return most;
}

double pi2_controlled_bound(const pi2_controller *controller, double w, double plant, int falls)
{
    const double most = 1.05 * largest(controller, w); /* between the points, too */
    if (controller->update != PI2_SAMPLED)
        return most * plant;
    const double aliases = falls == 2 ? 2.11 : PI2_PI * PI2_PI / 4.0;
    return most / controller->interval * (1.0 + aliases) * plant / w;
}

static int denominator(const void *of, size_t n, const double *w, double *values)
{
    const pi2_controller *const controller = of;
    for (size_t i = 0; i < n; i++)
        store(controller_bottom(controller, controller_variable(controller, w[i])), values + 2 * i);
    return 1;
}

pi2_curve pi2_controller_denominator(const pi2_controller *controller)
{
    return (pi2_curve){denominator, controller};
}
