#include "margins/search/scan.h"

#include <math.h>

#include "elementary.h"

#define POINTS 40             /* frequencies of a loop */
#define MOST_STEPS 12         /* of an order of 1.44: from a cell of the grid to the last bits */
#define LAST_STEP 1e-7        /* in ln w: what is left after a step is by far smaller than the step */
#define NEARLY_ALL (1.0 - 1e-6) /* of the frequencies up to pi/T, where L is real */
#define STRANGE 10.0          /* times lower, where the search then begins */
#define ITERATIONS 60
#define LONGEST_STEP 2.0      /* in ln v, while no bracket is known */
#define LAST_RELATIVE 1e-8

/* A function that falls through zero, its slope, and what it is of. */
typedef struct {
    double m, mu, a, c, k;
    int scalable;
} twin;

typedef void falling(const twin *t, double x, double *value, double *slope);

static double larger(double a, double b) { return a > b ? a : b; }

static double smaller(double a, double b) { return a < b ? a : b; }

static double size_of(double re, double im) { return sqrt(re * re + im * im); }

static double degrees(double angle) { return angle * (180.0 / PI2_PI); }

/* |jv + mu h|^2 and its derivative. */
static double denominator(const twin *t, double v, double sine, double cosine, double *slope)
{
    const double mu = t->mu, common = v * v - 2.0 * mu * v * sine;
    *slope = 2.0 * v - 2.0 * mu * (sine + v * cosine);
    if (t->scalable)
        return common + mu * mu;
    *slope -= 2.0 * mu * mu * sine;
    return common + 2.0 * mu * mu * (1.0 + cosine);
}

/* ln |L|^2 over ln v. */
static void gain_of(const twin *t, double x, double *value, double *slope)
{
    const double v = exp(x), u = v * v, a2 = t->a * t->a, c2u = t->c * t->c * u;
    double falls;
    const double square = denominator(t, v, sin(v), cos(v), &falls);
    *value = log(t->m * t->m * (a2 + c2u) / (u * (1.0 + u) * square));
    *slope = 2.0 * c2u / (a2 + c2u) - 2.0 - 2.0 * u / (1.0 + u) - v * falls / square;
}

/* Falls through 0 where the phase is -180 degrees. */
static void phase_of(const twin *t, double v, double *value, double *slope)
{
    const double r = t->c / t->a, ru = 1.0 + r * v * v, lead = (r - 1.0) * v / ru;
    const double rises = (r - 1.0) * (2.0 - ru) / (ru * ru), s = sin(t->k * v), c = cos(t->k * v);
    const double re = c + lead * s, im = lead * c - s, re_slope = t->k * im + rises * s, im_slope = rises * c - t->k * re;
    const double sine = sin(v), cosine = cos(v), h = t->scalable ? cosine : 1.0 + cosine;
    *value = re * t->mu * h + im * (v - t->mu * sine);
    *slope = re_slope * t->mu * h - re * t->mu * sine + im_slope * (v - t->mu * sine) + im * (1.0 - t->mu * cosine);
}

/* Newton's steps, or halves of the bracket. */
static double root_of(falling *function, const twin *t, double x, double low, double high)
{
    for (int i = 0; i < ITERATIONS; i++) {
        double value, slope;
        const double before = x;
        function(t, x, &value, &slope);
        if (value > 0.0)
            low = x;
        if (value < 0.0)
            high = x;
        const double newton = x - larger(-LONGEST_STEP, smaller(value / slope, LONGEST_STEP));
        if (value == 0.0)
            break;
        if (newton >= low && newton <= high && slope < 0.0)
            x = newton;
        else if (isfinite(low) && isfinite(high))
            x = (low + high) / 2.0;
        else
            x += value > 0.0 ? LONGEST_STEP : -LONGEST_STEP;
        if (fabs(x - before) <= LAST_RELATIVE * larger(fabs(x), 1e-6))
            break;
    }
    return x;
}

/* Where |L| would be 1 on the asymptotes of ln |L| between its corners. */
static double gain_start(const twin *t)
{
    const double level = t->mu * (t->scalable ? 1.0 : 2.0), tiny = 1e-300, am = t->a * t->m, cm = t->c * t->m;
    const double low = smaller(smaller(am / (level + tiny), sqrt(am)), smaller(sqrt(am / (level + tiny)), cbrt(am)));
    const double high = smaller(smaller(cm, cm / (level + tiny)), sqrt(cm));
    return log(larger(low, cm > level ? high : 0.0));
}

static double phase_crossover(const twin *t)
{
    const double r = t->c / t->a, k = t->k, level = t->mu * (t->scalable ? 1.0 : 2.0);
    /* To second order in v^2, with tan x = x: a quadratic. */
    const double b = k + 1.0 - r - level * r, root = sqrt(b * b + 4.0 * k * r * level);
    const double u = b > 0.0 ? 2.0 * level / (b + root) : (root - b) / (2.0 * k * r);
    double top = PI2_PI / k;
    if (t->scalable)
        top = smaller(top, PI2_PI / 2.0);
    if (r < 1.0)
        top = PI2_PI / (2.0 * k);
    return root_of(phase_of, t, smaller(sqrt(u), 0.95 * top), 0.0, top);
}

pi2_scan_twin pi2_scan_twin_of(const pi2_scan_design *design, const pi2_scan_loop *loop, double k)
{
    const double rtt = loop->rtt, gain = design->beta + design->alpha / 2.0;
    const twin t = {loop->m, smaller(loop->mu, loop->scalable ? design->mu_scalable : design->mu_reno),
                    design->alpha * rtt * rtt / design->interval, gain * rtt, k, loop->scalable};
    const double v = exp(root_of(gain_of, &t, gain_start(&t), -INFINITY, INFINITY)), v_pc = phase_crossover(&t);
    const double r = t.c / t.a, h = t.scalable ? cos(v) : 1.0 + cos(v);
    const double lead = atan2((r - 1.0) * v, 1.0 + r * v * v), lag = atan2(v - t.mu * sin(v), t.mu * h);
    pi2_scan_twin found = {-INFINITY, degrees(PI2_PI / 2.0 + lead - k * v - lag), v / rtt, v_pc / rtt};
    if (v_pc > 0.0) {
        double value, slope;
        gain_of(&t, log(v_pc), &value, &slope);
        found.gain_margin = -10.0 / log(10.0) * value;
    }
    return found;
}

/* Of one loop: where it is evaluated, and what it is there. */
typedef struct {
    pi2_scan_curve *curve;
    const void *data;
    size_t loop;
    double end;
    double x[POINTS], values[POINTS][2];
} row;

typedef double reading(const row *r, double x, const double value[2]);

static double size_read(const row *r, double x, const double value[2])
{
    (void)r;
    (void)x;
    return log(size_of(value[0], value[1]));
}

/* The imaginary part, over what vanishes with it at pi/T. */
static double across_read(const row *r, double x, const double value[2])
{
    return value[1] / cos(PI2_PI / 2.0 * exp(x) / r->end);
}

/* L where a reading first changes its sign in an allowed cell, and ln w of that; 1 if it does, -1 if memory lacks. */
static int first_root(const row *r, reading *read, const char *allowed, double *where, double value[2])
{
    for (int i = 0; i + 1 < POINTS; i++) {
        double a = r->x[i], b = r->x[i + 1], fa = read(r, a, r->values[i]), fb = read(r, b, r->values[i + 1]);
        if (!(allowed[i] && ((fa < 0.0 && fb > 0.0) || (fa > 0.0 && fb < 0.0))))
            continue;
        for (int step = 0; step < MOST_STEPS; step++) { /* regula falsi with the Illinois rule */
            const double ends[] = {smaller(a, b), larger(a, b)}, moves = fa == fb ? 0.0 : fb * (b - a) / (fb - fa);
            const double x = larger(ends[0], smaller(b - moves, ends[1])), w = exp(x);
            if (!r->curve(r->data, r->loop, 1, &w, value))
                return -1;
            const double f = read(r, x, value), moved = fabs(x - b);
            if (f * fb > 0.0)
                fa /= 2.0;
            else {
                a = b;
                fa = fb;
            }
            b = x;
            fb = f;
            if (moved < LAST_STEP)
                break;
        }
        *where = b;
        return 1;
    }
    return 0;
}

/* Where the search begins: below both crossovers of the twin, and lower still where it is of another law. */
static double lowest(const pi2_scan_design *d, const pi2_scan_loop *loop, const pi2_scan_twin *t, double top)
{
    double low = smaller(smaller(t->w_gc, t->w_pc > 0.0 ? t->w_pc : INFINITY), top / 4.0) / 3.0;
    if (loop->mu > (loop->scalable ? d->mu_scalable : d->mu_reno) || loop->kappa > 0.0 || d->numeric)
        low /= STRANGE;
    return loop->kappa > 0.0 ? smaller(low, loop->kappa / (STRANGE * loop->rtt)) : low;
}

int pi2_scan(const pi2_scan_design *d, size_t loops, const pi2_scan_loop *loop, pi2_scan_curve *curve, const void *data,
             double *gain_margin, double *phase_margin, double *modulus)
{
    const double end = PI2_PI / d->interval, top = NEARLY_ALL * end;
    row r = {.curve = curve, .data = data, .end = end};
    for (r.loop = 0; r.loop < loops; r.loop++) {
        const pi2_scan_loop *const one = &loop[r.loop];
        const double k = 1.0 + d->interval / (2.0 * one->rtt);
        const pi2_scan_twin t = pi2_scan_twin_of(d, one, k);
        const double low = lowest(d, one, &t, top), from = log(low), wide = log(top / low);
        double w[POINTS], nearest = 1.0, where, value[2];
        for (int i = 0; i < POINTS; i++)
            w[i] = exp(r.x[i] = from + wide * (i / (POINTS - 1.0)));
        if (!curve(data, r.loop, POINTS, w, &r.values[0][0]))
            return 0;
        char allowed[POINTS] = {0};
        double all = 0.0;
        for (int i = 0; i < POINTS; i++) {
            all += r.values[i][0] + r.values[i][1];
            nearest = smaller(nearest, size_of(1.0 + r.values[i][0], r.values[i][1]));
            allowed[i] = size_of(r.values[i][0], r.values[i][1]) > 1.0;
        }
        modulus[r.loop] = nearest;
        if (isnan(all)) { /* no number says anything of such a loop */
            gain_margin[r.loop] = phase_margin[r.loop] = modulus[r.loop] = all;
            continue;
        }
        int crossed = first_root(&r, size_read, allowed, &where, value);
        if (crossed < 0)
            return 0;
        /* Which turn the phase is in is known from that of the twin: its margin, where that is, and its delay. */
        double pm = INFINITY;
        if (crossed) {
            pm = degrees(atan2(-value[1], -value[0]));
            const double near = t.phase_margin - degrees(k * one->rtt * (exp(where) - t.w_gc));
            pm += 360.0 * nearbyint(((isfinite(near) ? near : 0.0) - pm) / 360.0);
        }
        phase_margin[r.loop] = pm;
        const int survived = one->kappa > 0.0 && crossed && pm > 0.0;
        for (int i = 0; i + 1 < POINTS; i++) {
            const int negative = r.values[i][0] < 0.0 && r.values[i + 1][0] < 0.0;
            allowed[i] = negative
                         && (survived ? size_of(r.values[i + 1][0], r.values[i + 1][1]) < 1.0 : r.values[i][1] < 0.0);
        }
        crossed = first_root(&r, across_read, allowed, &where, value);
        if (crossed < 0)
            return 0;
        /* At pi/T a sampled loop is real, which counts as a crossing. */
        const double size = larger(crossed ? size_of(value[0], value[1]) : 0.0, larger(-r.values[POINTS - 1][0], 0.0));
        gain_margin[r.loop] = -20.0 * log10(size);
        /* A phase that starts below -180 degrees, as where there are hardly any signals. */
        if (d->numeric ? r.values[0][0] < 0.0 && r.values[0][1] > 0.0 : one->mu == 0.0 && one->rtt >= d->limit)
            gain_margin[r.loop] = -INFINITY;
    }
    return 1;
}
