#include "margins/ack_margins.h"

#include <math.h>

#include "elementary.h"
#include "margins/domain.h"

#define FIRST 1e-9 /* v: no crossover is looked for below */

/* What gain and phase have in common. */
typedef struct {
    double half, other;        /* sin(v/2), cos(v/2) */
    double lead, height;       /* c v and |a + j c v|^2 */
    double dr, di, size;       /* dr + j di = jv + own + cut P, and its |.|^2 */
    double slope_re, slope_im; /* of its logarithm over ln v */
} parts;

static parts parts_at(const pi2_ack_form *p, double v)
{
    const double half = sin(0.5 * v), other = cos(0.5 * v);
    const double sine = 2.0 * half * other, re = sine / v, im = -2.0 * half * half / v; /* P */
    const double dr = p->own + p->cut * re, di = v + p->cut * im, size = dr * dr + di * di;
    /* v dP/dv = e - P, e = e^{-jv} */
    const double moves_re = p->cut * (1.0 + im * v - re), moves_im = v - p->cut * (sine + im);
    const double lead = p->c * v;
    return (parts){half, other, lead, p->a * p->a + lead * lead, dr, di, size,
                   (moves_re * dr + moves_im * di) / size, (moves_im * dr - moves_re * di) / size};
}

/* ln |L|, and its derivative with respect to ln v. */
static double gain_at(const pi2_ack_form *p, double v, double *slope)
{
    const parts at = parts_at(p, v);
    const double reduced = p->reduces ? 2.0 * at.half / v : 1.0, unit = p->gain / v * reduced;
    *slope = at.lead * at.lead / at.height - 1.0 - at.slope_re;
    if (p->reduces)
        *slope += 0.5 * v * at.other / at.half - 1.0;
    return log(unit * sqrt(at.height / at.size));
}

/* The phase of L above -180 degrees (rad), and its derivative with respect to ln v. */
static double phase_at(const pi2_ack_form *p, double v, double *slope)
{
    const parts at = parts_at(p, v);
    const double late = (p->delay + (p->reduces ? 0.5 : 0.0)) * v;
    *slope = p->a * at.lead / at.height - at.slope_im - late;
    /* atan(lead/a) + atan(dr/di), both from 0 to 90 degrees */
    return atan2(at.lead * at.di + p->a * at.dr, p->a * at.di - at.lead * at.dr) - late;
}

typedef double (*curve)(const pi2_ack_form *p, double v, double *slope);

/* The positive root of k2 x^2 + k1 x - k0, k0 > 0, without cancellation; none: 1. */
static double positive_root(double k2, double k1, double k0)
{
    const double square = k1 * k1 + 4.0 * k2 * k0, root = sqrt(fmax(square, 0.0));
    const double found = k1 > 0.0 ? 2.0 * k0 / (k1 + root) : 0.5 * (root - k1) / k2;
    return found > 0.0 && found < INFINITY ? found : 1.0;
}

/* Where a curve that falls through 0 does so, by Newton's method in ln v; a step that leaves the bracket or does not halve
 * is a bisection instead. Returns 0 if it does not between FIRST and PI2_ACK_LAST. */
static double crossing(const pi2_ack_form *p, curve f, double start)
{
    double low = FIRST, high = PI2_ACK_LAST, v = fmin(fmax(start, FIRST), 3.0), last = 1.0;
    while (high - low > 1e-12 * low) {
        double slope;
        const double value = f(p, v, &slope), step = -value / slope;
        if (value > 0.0)
            low = v;
        else
            high = v;
        const double next = v * exp(step);
        const int sure = fabs(step) <= 0.5 * last && next >= low && next <= high;
        if (sure && fabs(step) < 1e-9) /* its square is lost in rounding */
            return next;
        last = sure ? fabs(step) : 1.0;
        v = sure ? next : sqrt(low * high);
    }
    return 0.0;
}

/* What the proof asks for, of window laws that are equal to it but for rounding; not a number is refused, too. */
static int proved(const pi2_ack_form *p)
{
    const double rest = 1.0 - 0.5 * p->cut;
    return p->gain > PI2_LEAST && p->gain < PI2_MOST && p->a > PI2_LEAST && p->a < PI2_MOST && p->c >= 0.0
        && p->c < PI2_MOST && p->delay >= 0.0 && p->delay < PI2_MOST && p->cut >= 0.0 && p->own > PI2_LEAST
        && p->own < PI2_MOST && p->own >= p->cut * (1.0 - 1e-9) && rest > 0.0
        && 3.0 * rest * rest > p->cut * (p->own + p->cut);
}

int pi2_ack_margins(const pi2_ack_form *p, double result[4])
{
    if (!proved(p))
        return 0;
    /* With P = 1 both crossovers are roots of polynomials in v^2, the phase with tan x = x/(1 - 4 x^2/pi^2). */
    const double a = p->a, c = p->c, pole = p->own + p->cut, late = p->delay + (p->reduces ? 0.5 : 0.0);
    const double gain = p->gain * p->gain, bend = late * late * (4.0 / (PI2_PI * PI2_PI));
    const double v_gc = crossing(p, gain_at, sqrt(positive_root(1.0, pole * pole - gain * c * c, gain * a * a)));
    const double v_pc = crossing(
        p, phase_at, sqrt(positive_root(c * bend, late * (a - c * pole) + a * pole * bend - c, a * pole)));
    if (v_gc == 0.0 || v_pc == 0.0)
        return 0;
    double slope;
    result[0] = -gain_at(p, v_pc, &slope) * (20.0 / log(10.0));
    result[1] = phase_at(p, v_gc, &slope) * (180.0 / PI2_PI);
    result[2] = v_gc;
    result[3] = v_pc;
    return 1;
}
