#include "margins/search/smallest.h"

#include <math.h>

/* Whether a function that is convex from a to b does not get down to `enough`: lines through neighbours lie below it beyond
 * them; twice as far, to be sure. */
int pi2_out_of_reach(pi2_sample a, pi2_sample x, pi2_sample b, double enough)
{
    if (!(b.x > x.x && x.x > a.x))
        return 0;
    const double left = (b.f - x.f) / (b.x - x.x) * (x.x - a.x), right = (a.f - x.f) / (x.x - a.x) * (b.x - x.x);
    return x.f - 2.0 * (left > right ? left : right) > enough;
}

pi2_sample pi2_smallest_between(pi2_function *function, void *of, pi2_sample a, pi2_sample x, pi2_sample b, double enough)
{
    const double golden = 0.5 * (3.0 - sqrt(5.0)), least = 1e-9;
    pi2_sample v = x, w = x;
    double d = 0.0, e = 0.0;
    for (int i = 0; i < 200 && x.f > enough; i++) {
        const double middle = 0.5 * (a.x + b.x);
        if (fabs(x.x - middle) <= 2.0 * least - 0.5 * (b.x - a.x))
            break;
        if (isfinite(enough) && pi2_out_of_reach(a, x, b, enough))
            break;
        int step = 0;
        if (fabs(e) > least) {
            const double r = (x.x - w.x) * (x.f - v.f), q = (x.x - v.x) * (x.f - w.f);
            double p = (x.x - v.x) * q - (x.x - w.x) * r, over = 2.0 * (q - r);
            p = over > 0.0 ? -p : p;
            over = fabs(over);
            const double before = e;
            e = d;
            if (fabs(p) < fabs(0.5 * over * before) && p > over * (a.x - x.x) && p < over * (b.x - x.x)) {
                d = p / over;
                if (x.x + d - a.x < 2.0 * least || b.x - x.x - d < 2.0 * least)
                    d = copysign(least, middle - x.x);
                step = 1;
            }
        }
        if (!step) {
            e = x.x < middle ? b.x - x.x : a.x - x.x;
            d = golden * e;
        }
        pi2_sample u = {x.x + (fabs(d) >= least ? d : copysign(least, d)), 0.0};
        u.f = function(of, u.x);
        if (u.f <= x.f) {
            *(u.x < x.x ? &b : &a) = x;
            v = w;
            w = x;
            x = u;
        } else {
            *(u.x < x.x ? &a : &b) = u;
            if (u.f <= w.f || w.x == x.x) {
                v = w;
                w = u;
            } else if (u.f <= v.f || v.x == x.x || v.x == w.x) {
                v = u;
            }
        }
    }
    return x;
}
