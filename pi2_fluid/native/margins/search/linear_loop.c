#include "margins/search/linear_loop.h"

#include <math.h>

#include "elementary.h"

/* --- complex numbers ------------------------------------------------------------------------- */

typedef struct {
    double re, im;
} number;

static number times(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static number plus(number a, number b)
{
    return (number){a.re + b.re, a.im + b.im};
}

static number scaled(double factor, number a)
{
    return (number){factor * a.re, factor * a.im};
}

static number over(number a, number b)
{
    const double size = 1.0 / (b.re * b.re + b.im * b.im);
    return (number){size * (a.re * b.re + a.im * b.im), size * (a.im * b.re - a.re * b.im)};
}

/* e^{-j angle} */
static number turned(double angle)
{
    double sine, cosine;
    if (fabs(angle) < PI2_SINCOS_LIMIT) {
        pi2_sincos(0, angle, &sine, &cosine);
    } else {
        sine = sin(angle);
        cosine = cos(angle);
    }
    return (number){cosine, -sine};
}

static number polynomial(const double *coefficients, int degree, number x)
{
    number sum = {coefficients[degree], 0.0};
    for (int k = degree - 1; k >= 0; k--) {
        sum = times(sum, x);
        sum.re += coefficients[k];
    }
    return sum;
}

/* A polynomial of pi2_linear_class. */
static number in_both(const double *of, int states, number s, number e)
{
    number sum = {0.0, 0.0};
    for (int i = states; i >= 0; i--)
        sum = plus(times(sum, s), polynomial(of + i * (states + 1), states - i, e));
    return sum;
}

static void store(number value, double *to)
{
    to[0] = value.re;
    to[1] = value.im;
}

/* --- the parts of a loop --------------------------------------------------------------------- */

static double lag(const pi2_linear_loop *loop)
{
    return loop->update == PI2_DELAYED ? loop->interval / 2.0 : 0.0;
}

double pi2_linear_longest(const pi2_linear_loop *loop)
{
    double longest = 0.0;
    for (size_t c = 0; c < loop->classes; c++)
        longest = fmax(longest, loop->cls[c].rtt);
    return longest + lag(loop);
}

double pi2_linear_end(const pi2_linear_loop *loop)
{
    return loop->update == PI2_SAMPLED ? PI2_PI / loop->interval : INFINITY;
}

/* What the polynomials are of: s unit, or 1 - e^{-jwT} without cancellation at low frequency. */
static number variable(const pi2_linear_loop *loop, double w)
{
    if (loop->update != PI2_SAMPLED)
        return (number){0.0, w * loop->unit};
    const number half = turned(0.5 * w * loop->interval);
    return (number){2.0 * half.im * half.im, -2.0 * half.im * half.re};
}

/* The parts of the plant without a division: `drive`, and s - feedback, both times the senders' determinants. Unless scale
 * is 0 each of these is over (s + scale)^n and, if it is not 0, of size 1: of what winds, no size matters, and that of many
 * would underflow. */
static void entire(const pi2_linear_loop *loop, double w, double scale, number *drive, number *plant)
{
    const number s = {0.0, w};
    number product = {1.0, 0.0};
    *drive = (number){0.0, 0.0};
    *plant = s;
    for (size_t c = 0; c < loop->classes; c++) {
        const pi2_linear_class *const p = &loop->cls[c];
        const number e = turned(w * p->rtt);
        number own = in_both(p->own, p->states, s, e), from_u = in_both(p->signal, p->states, s, e);
        number from_delay = in_both(p->delay, p->states, s, e);
        for (int k = 0; scale > 0.0 && k < p->states; k++) {
            const number unit = {scale, w};
            from_u = over(from_u, unit);
            from_delay = over(from_delay, unit);
            own = over(own, unit);
        }
        if (scale > 0.0) {
            const double size = sqrt(own.re * own.re + own.im * own.im), inverse = size > 0.0 ? 1.0 / size : 1.0;
            own = scaled(inverse, own);
            from_u = scaled(inverse, from_u);
            from_delay = scaled(inverse, from_delay);
        }
        const number heard = times(times(from_u, e), (number){1.0, p->lead * w});
        *drive = plus(times(*drive, own), scaled(-p->weight, times(heard, product)));
        const number felt = plus(scaled(p->r, own), from_delay);
        *plant = plus(times(*plant, own), scaled(-p->weight, times(felt, product)));
        product = times(product, own);
    }
}

static int respond_by(const pi2_linear_loop *loop, const pi2_linear_sums *sums, size_t n, const double *w, double *values)
{
    enum { MANY = 32 };
    const double late = lag(loop);
    for (size_t p = 0; p < n; p += MANY) {
        const size_t many = n - p < MANY ? n - p : MANY;
        double s[2 * MANY], sum[2 * MANY];
        for (size_t i = 0; i < many; i++) {
            s[2 * i] = 0.0;
            s[2 * i + 1] = w[p + i];
        }
        if (loop->update == PI2_SAMPLED && !pi2_linear_sums_at(sums, many, s, sum))
            return 0;
        for (size_t i = 0; i < many; i++) {
            const double at = w[p + i];
            const number x = variable(loop, at);
            number L = over(polynomial(loop->top, loop->degree, x), polynomial(loop->bottom, loop->degree, x));
            if (loop->update == PI2_SAMPLED) {
                L = times(times(L, x), (number){sum[2 * i], sum[2 * i + 1]});
            } else {
                number drive, plant;
                entire(loop, at, 0.0, &drive, &plant);
                L = times(L, over(drive, plant));
                L = late > 0.0 ? times(L, turned(at * late)) : L;
            }
            store(L, values + 2 * (p + i));
        }
    }
    return 1;
}

static int respond(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    return respond_by(loop, loop->sums, n, w, values);
}

static int sketch(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    return respond_by(loop, loop->rough, n, w, values);
}

pi2_curve pi2_linear_response(const pi2_linear_loop *loop)
{
    return (pi2_curve){respond, loop};
}

pi2_curve pi2_linear_sketch(const pi2_linear_loop *loop)
{
    const double end = pi2_linear_end(loop);
    double a[2], b[2];
    const int known = loop->rough && sketch(loop, 1, &end, a) && respond(loop, 1, &end, b);
    return (pi2_curve){known && hypot(a[0] - b[0], a[1] - b[1]) < 1e-4 * hypot(b[0], b[1]) ? sketch : respond, loop};
}

/* --- characteristic functions ---------------------------------------------------------------- */

static int closed(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    const double scale = 1.0 / pi2_linear_longest(loop), late = lag(loop);
    double leading = loop->bottom[loop->degree];
    for (int k = 0; k < loop->degree; k++)
        leading *= loop->unit;
    for (size_t i = 0; i < n; i++) {
        const number x = variable(loop, w[i]), unit = {scale, w[i]};
        number drive, plant;
        entire(loop, w[i], scale, &drive, &plant);
        number found = times(polynomial(loop->bottom, loop->degree, x), plant);
        drive = late > 0.0 ? times(drive, turned(w[i] * late)) : drive;
        found = scaled(1.0 / leading, plus(found, times(polynomial(loop->top, loop->degree, x), drive)));
        for (int k = 0; k <= loop->degree; k++)
            found = over(found, unit);
        store(found, values + 2 * i);
    }
    return 1;
}

pi2_curve pi2_linear_closed(const pi2_linear_loop *loop)
{
    return (pi2_curve){closed, loop};
}

static int open(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    const double scale = 1.0 / pi2_linear_longest(loop);
    for (size_t i = 0; i < n; i++) {
        number drive, plant;
        entire(loop, w[i], scale, &drive, &plant);
        store(over(plant, (number){scale, w[i]}), values + 2 * i);
    }
    return 1;
}

pi2_curve pi2_linear_open(const pi2_linear_loop *loop)
{
    return (pi2_curve){open, loop};
}

static int denominator(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    for (size_t i = 0; i < n; i++)
        store(polynomial(loop->bottom, loop->degree, variable(loop, w[i])), values + 2 * i);
    return 1;
}

pi2_curve pi2_linear_denominator(const pi2_linear_loop *loop)
{
    return (pi2_curve){denominator, loop};
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* Over v >= w, which falls like 1/v^falls from there. */
static double plant_bound(const pi2_linear_loop *loop, double w, int *falls)
{
    double drive = 0.0, feedback = 0.0;
    *falls = 2;
    for (size_t c = 0; c < loop->classes; c++) {
        const pi2_linear_class *const p = &loop->cls[c];
        const double rest = w - p->rates;
        if (rest <= 0.0)
            return INFINITY;
        const double gain = fabs(p->weight) * p->shown / rest;
        *falls = p->lead != 0.0 ? 1 : *falls;
        drive += gain * (1.0 + fabs(p->lead) * w) * p->heard;
        feedback += fabs(p->weight * p->r) + gain * p->felt;
    }
    return w > feedback ? drive / (w - feedback) : INFINITY;
}

static double size_at(const pi2_linear_loop *loop, double w)
{
    const number x = variable(loop, w);
    const number found = over(polynomial(loop->top, loop->degree, x), polynomial(loop->bottom, loop->degree, x));
    return loop->update == PI2_SAMPLED ? hypot(found.re, found.im) * hypot(x.re, x.im) : hypot(found.re, found.im);
}

/* The largest gain of the controller from w on, up to pi/T if it is sampled. */
static double controller_bound(const pi2_linear_loop *loop, double w)
{
    enum { POINTS = 200 };
    const double end = loop->update == PI2_SAMPLED ? pi2_linear_end(loop) : 1e6 * w;
    /* |top|^2 and |bottom|^2 of first degree are linear in w^2, or in cos wT, of which their quotient is monotone; if it is
     * sampled, of an integrator alone, whose quotient with 1 - y is a number. */
    if (loop->degree <= 1 && (loop->update != PI2_SAMPLED || loop->bottom[0] == 0.0))
        return fmax(size_at(loop, w), size_at(loop, end));
    double most = 0.0;
    for (int i = 0; i < POINTS; i++) {
        const double part = (double)i / (POINTS - 1);
        const double v = loop->update == PI2_SAMPLED ? w + part * (end - w) : w * pow(end / w, part);
        most = fmax(most, size_at(loop, v));
    }
    return most;
}

double pi2_linear_bound(const pi2_linear_loop *loop, double w)
{
    int falls;
    const double plant = plant_bound(loop, w, &falls);
    if (!isfinite(plant))
        return INFINITY;
    const double controller = 1.05 * controller_bound(loop, w); /* between the points, too */
    if (loop->update != PI2_SAMPLED)
        return controller * plant;
    const double aliases = falls == 2 ? 2.11 : PI2_PI * PI2_PI / 4.0;
    return controller / loop->interval * (1.0 + aliases) * plant / w;
}

double pi2_linear_fading(const pi2_linear_loop *loop, double level)
{
    const double top = pi2_linear_end(loop);
    double shortest = INFINITY;
    for (size_t c = 0; c < loop->classes; c++)
        shortest = fmin(shortest, loop->cls[c].rtt);
    double w = 1.0 / shortest;
    for (int i = 0; i < 200; i++) {
        if (w >= top)
            return top;
        if (pi2_linear_bound(loop, w) < level)
            return w;
        w *= 1.5;
    }
    return NAN;
}
