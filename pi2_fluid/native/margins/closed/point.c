/* Margins of one point anywhere in the domain: extreme numbers and iterations that did not converge. */
#include "margins/closed/point.h"

#include <math.h>

#include "margins/closed/domain.h"
#include "margins/closed/lane.h"

/* ln |L(jv)| and its derivative with respect to ln v; factors paired so that none overflows near |L| = 1. */
static double log_gain(int scalable, double m, double mu, double a, double c, double v, double *slope)
{
    const double s = sin(v), co = cos(v);
    const double re = mu * (scalable ? co : 1.0 + co), im = v - mu * s;
    const double lead = hypot(a, c * v), lag = hypot(1.0, v), pole = hypot(re, im);
    const double zero = c * v / lead, queue = v / lag;
    *slope = zero * zero - 1.0 - queue * queue
        - (im / pole * (1.0 - mu * co) - re / pole * mu * s) * (v / pole);
    return log(m / v * (lead / lag) / pole);
}

/* The root of ln |L| in ln v by Newton's method, bisected when a step leaves the bracket or does not halve. */
static double gain_crossover(int scalable, double m, double mu, double a, double c)
{
    double low = 1e-205, high = 1e105, v = 1.0, last = INFINITY;
    for (int i = 0; i < 300; i++) {
        double slope;
        const double value = log_gain(scalable, m, mu, a, c, v, &slope);
        if (value > 0.0)
            low = v;
        else
            high = v;
        double next = v * exp(-value / slope);
        if (!(fabs(value / slope) <= 0.5 * last && next >= low && next <= high))
            next = sqrt(low) * sqrt(high);
        if (fabs(next - v) <= 4e-16 * v)
            return next;
        last = fabs(log(next / v));
        v = next;
    }
    return v;
}

/* v^2 at the phase crossover: the iteration of the blocks, carried on until it stands still. */
static double phase_crossover(int scalable, double mu, double a, double c)
{
    double u = pi2_phase_start(scalable, mu, a, c);
    for (int i = 0; i < 6; i++) {
        const pi2_phase_step step = pi2_phase(scalable, 0, mu, a, c, u);
        u += step.num / step.den;
    }
    return u;
}

static int within(double x)
{
    return x >= PI2_LEAST && x <= PI2_MOST;
}

int pi2_margins_point(int scalable, double m, double mu, double a, double c, double rtt, double result[4])
{
    const double most = scalable ? PI2_MU_SCALABLE : PI2_MU_RENO;
    if (!(within(m) && within(a) && within(c) && within(rtt) && mu <= most && (mu >= PI2_LEAST || mu == 0.0)))
        return 0;
    const double v = gain_crossover(scalable, m, mu, a, c);
    const double re = mu * (scalable ? cos(v) : 1.0 + cos(v)), im = v - mu * sin(v);
    result[1] = (PI2_PI / 2 - v + atan2(c * v, a) - atan(v) - atan2(im, re)) * (180.0 / PI2_PI);
    result[2] = v / rtt;
    if (mu == 0.0 && c <= 2.0 * a) { /* the phase never rises above -180 degrees */
        result[0] = -INFINITY;
        result[3] = 0.0;
        return 1;
    }
    /* the phase crossover depends on the ratio of a and c only */
    const double scale = a > c ? a : c, as = a / scale, cs = c / scale;
    const double u = phase_crossover(scalable, mu, as, cs), d = as + cs * u, w = sqrt(u);
    const double over = (u + u * u) * (scalable ? cos(w) : 1.0 + cos(w));
    const double under = scalable ? d : d * (1.0 + cos(w)) + (cs - as) * w * sin(w);
    result[0] = 20.0 * (log10(over / under) - log10(m) - log10(scale));
    result[3] = w / rtt;
    return 1;
}
