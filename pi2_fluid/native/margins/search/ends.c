#include "margins/search/ends.h"

#include <math.h>

#include "elementary.h"

/* Of the slowest scale: where the search for the asymptote gives up. */
#define LOWEST 1e-25
/* As far below the slowest corner the phase is its asymptote. */
#define BELOW 100.0

double pi2_top(const pi2_loop *loop)
{
    return fmin(PI2_NEARLY_ALL * loop->end, loop->reach);
}

pi2_outcome pi2_low_end(const pi2_loop *loop, double *low)
{
    const pi2_curve *const curve = &loop->sketch;
    const double start = fmin(1.0 / loop->longest, pi2_top(loop) / 8.0), slow = loop->slow;
    const double asymptote = -PI2_PI / 2.0 * loop->integrators;
    const double re = cos(asymptote), im = sin(asymptote);
    double found = 0.0, rest[2];
    const double still = 1e-8 * slow;
    if (!curve->at(curve->of, 1, &still, rest))
        return PI2_NO_MEMORY;
    const int loud = hypot(rest[0], rest[1]) > 1.0;
    for (double w = start / 100.0; w > start * LOWEST; w /= 4.0) {
        double L[2];
        if (!curve->at(curve->of, 1, &w, L))
            return PI2_NO_MEMORY;
        const double off = fabs(atan2(L[1] * re - L[0] * im, L[0] * re + L[1] * im));
        const double size = hypot(L[0], L[1]);
        const int settled = off < 0.02 && (asymptote == 0.0 ? (size > 1.0) == loud : size > 2.0);
        found = !settled ? 0.0 : found > 0.0 ? found : w;
        if (settled && w * BELOW <= slow) {
            *low = found;
            return PI2_DONE;
        }
    }
    return PI2_NO_ASYMPTOTE;
}

double pi2_fading(const pi2_loop *loop, double level)
{
    double w = 1.0 / loop->shortest;
    for (int i = 0; i < 200; i++) {
        if (w >= loop->end)
            return loop->end;
        if (loop->bound(loop->of, w) < level)
            return w;
        w *= 1.5;
    }
    return NAN;
}
