#include "margins/search/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"
#include "margins/search/smallest.h"

#define TURN (2.0 * PI2_PI)

void pi2_crossings_free(pi2_crossings *crossings)
{
    free(crossings->at);
    *crossings = (pi2_crossings){0};
}

static int append(pi2_crossings *to, double w, double value, int enters)
{
    if (to->n == to->room) {
        const size_t room = 2 * to->room + 8;
        pi2_crossing *const at = realloc(to->at, room * sizeof *at);
        if (!at)
            return 0;
        to->at = at;
        to->room = room;
    }
    to->at[to->n++] = (pi2_crossing){w, value, enters};
    return 1;
}

/* What is 0 at a crossing, as a function of ln w: ln |L|, or how far the phase is from the nearest odd multiple of 180
 * degrees. pi/T is one by symmetry: that distance is divided by cos(wT/2), which vanishes there with it. */
typedef struct {
    const pi2_curve *curve;
    int phase;
    double end;
    int failed;      /* for want of memory */
    double value[2]; /* of the curve where it was last evaluated */
} level;

static double level_of(const level *to, double w, const double *value)
{
    if (!to->phase)
        return 0.5 * log(value[0] * value[0] + value[1] * value[1]);
    return atan2(-value[1], -value[0]) / cos(PI2_PI / 2.0 * w / to->end);
}

static double level_at(level *to, double x)
{
    const double w = exp(x);
    to->failed |= !to->curve->at(to->curve->of, 1, &w, to->value);
    return level_of(to, w, to->value);
}

/* The root between two points at which the level has opposite signs, by Chandrupatla's method, to `accuracy`. */
static double root_between(level *to, double a, double fa, double b, double fb, double accuracy)
{
    double c = a, fc = fa, t = fa / (fa - fb);
    for (int i = 0; i < 100 && !to->failed; i++) {
        const double x = a + t * (b - a), fx = level_at(to, x);
        if ((fx > 0.0) == (fa > 0.0)) {
            c = a;
            fc = fa;
        } else {
            c = b;
            fc = fb;
            b = a;
            fb = fa;
        }
        a = x;
        fa = fx;
        const double best = fabs(fa) < fabs(fb) ? a : b, width = fabs(b - a), least = accuracy * (1.0 + fabs(best));
        if (fx == 0.0 || width <= 2.0 * least)
            return fx == 0.0 ? x : best;
        const double xi = (a - b) / (c - b), phi = (fa - fb) / (fc - fb);
        t = 0.5;
        if (phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi)
            t = fa / (fb - fa) * (fc / (fb - fc)) + (c - a) / (b - a) * (fa / (fc - fa)) * (fb / (fc - fb));
        const double edge = least / width;
        t = t < edge ? edge : t > 1.0 - edge ? 1.0 - edge : t;
    }
    return fabs(fa) < fabs(fb) ? a : b;
}

/* The same where a sketch of the curve has a root: by the secant method from there. NaN where steps are long or do not
 * shrink, or leave the bracket. The curve is evaluated last at the root. */
static double root_near(level *to, const pi2_curve *sketch, double a, double fa, double b, double fb)
{
    const double width = 1e-3, longest = 1e-4;
    level rough = *to;
    rough.curve = sketch;
    double x = root_between(&rough, a, fa, b, fb, 1e-9);
    double slope = (level_at(&rough, x + width) - level_at(&rough, x - width)) / (2.0 * width);
    double moved = longest, last = 0.0;
    to->failed |= rough.failed;
    for (int i = 0; i < 8 && !to->failed; i++) {
        const double f = level_at(to, x);
        if (i > 0 && fabs(moved) > 1e-9)
            slope = (f - last) / moved;
        const double step = -f / slope;
        if (fabs(step) <= 1e-13)
            return x >= a - longest && x <= b + longest ? x : NAN;
        if (!(fabs(step) <= fabs(moved)))
            break;
        moved = step;
        last = f;
        x += step;
    }
    return NAN;
}

typedef struct {
    level *to;
    double sign;
} one_sided;

static double one_sided_at(void *of, double x)
{
    const one_sided *const p = of;
    return p->sign * level_at(p->to, x);
}

/* Of a followed path: what it crosses. */
typedef struct {
    const pi2_path *path;
    const pi2_curve *sketch; /* NULL: none */
    int mirrored;
    level to;
    double turns; /* by which the phase at the point looked at is more than its angle */
    pi2_crossings *found;
} search;

/* Is this point as near to the level as neighbours are to one another? */
static int near_level(const level *to, const double *value)
{
    if (to->phase)
        return value[0] < 0.0 && fabs(value[1]) < -0.42279321873816176 * value[0]; /* tan(STEP) */
    const double size = value[0] * value[0] + value[1] * value[1];
    return size > 0.44932896411722156 && size < 2.225540928492468; /* e^(-2 STEP), e^(2 STEP) */
}

/* On which side of the level: 1, -1, or 0. */
static int side(const level *to, const double *value)
{
    const double beyond = to->phase ? -value[1] : value[0] * value[0] + value[1] * value[1] - 1.0;
    return (beyond > 0.0) - (beyond < 0.0);
}

/* Keeps a root, the curve evaluated there; the phase is within half a turn of `near`. `falls` is 1 where the level is crossed
 * downwards, -1 upwards. */
static int keep(search *s, double x, double near, int falls)
{
    const double w = exp(x), *const value = s->to.value;
    if (s->to.failed)
        return 0;
    if (s->to.phase)
        return append(s->found, w, hypot(value[0], value[1]), 2 * falls);
    const double angle = atan2(value[1], value[0]);
    return append(s->found, w, 180.0 + (angle + TURN * round((near - angle) / TURN)) * (180.0 / PI2_PI), 0);
}

/* An extremum beyond the level between the neighbours of a point that are all on one side of it; NaN: none. */
static pi2_sample touched(search *s, size_t i)
{
    const pi2_path *const path = s->path;
    const pi2_sample none = {NAN, NAN};
    const size_t last = path->n - 1;
    const double *const here = path->values + 2 * i;
    if (i == 0 || (i == last && !s->mirrored) || !near_level(&s->to, here))
        return none;
    const size_t next = i == last ? i - 1 : i + 1;
    const double f = level_of(&s->to, path->w[i], here), sign = f > 0.0 ? 1.0 : -1.0;
    pi2_sample a = {log(path->w[i - 1]), sign * level_of(&s->to, path->w[i - 1], here - 2)};
    pi2_sample b = {log(path->w[next]), sign * level_of(&s->to, path->w[next], path->values + 2 * next)};
    pi2_sample x = {log(path->w[i]), fabs(f)};
    if (!(a.f > x.f && b.f >= x.f && f != 0.0) || (i < last && pi2_out_of_reach(a, x, b, 0.0)))
        return none;
    one_sided of = {&s->to, sign};
    a.f = one_sided_at(&of, a.x);
    b.f = one_sided_at(&of, b.x);
    x.f = one_sided_at(&of, x.x);
    pi2_sample found;
    if (i == last) {
        pi2_sample within = {0.5 * (a.x + x.x), 0.0};
        within.f = one_sided_at(&of, within.x);
        found = pi2_smallest_between(one_sided_at, &of, a, within, x, 0.0);
    } else {
        found = pi2_smallest_between(one_sided_at, &of, a, x, b, 0.0);
    }
    return found.f <= 0.0 ? (pi2_sample){found.x, sign * found.f} : none;
}

/* What lies between two neighbours, or at two points between them. */
static int cross_between(search *s, pi2_sample a, pi2_sample b, double near)
{
    if (!(a.f * b.f < 0.0))
        return 1;
    double x = s->sketch ? root_near(&s->to, s->sketch, a.x, a.f, b.x, b.f) : NAN;
    if (isnan(x)) {
        x = root_between(&s->to, a.x, a.f, b.x, b.f, 1e-15);
        level_at(&s->to, x);
    }
    return keep(s, x, near, a.f > 0.0 ? 1 : -1);
}

/* All roots in one cell of the path; `hidden` are the extrema found about its ends. */
static int cross_cell(search *s, size_t i, const pi2_sample *hidden)
{
    const pi2_path *const path = s->path;
    const double *const a = path->values + 2 * i, *const b = a + 2;
    const double near = atan2(b[1], b[0]) + TURN * s->turns;
    pi2_sample point[4] = {{log(path->w[i]), level_of(&s->to, path->w[i], a)}};
    int n = 1;
    for (int k = 0; k < 2; k++)
        if (hidden[k].x > point[0].x && hidden[k].x < log(path->w[i + 1]))
            point[n++] = hidden[k];
    if (n == 3 && point[2].x < point[1].x) {
        const pi2_sample first = point[2];
        point[2] = point[1];
        point[1] = first;
    }
    point[n++] = (pi2_sample){log(path->w[i + 1]), level_of(&s->to, path->w[i + 1], b)};
    for (int k = 0; k + 1 < n; k++) {
        if (!cross_between(s, point[k], point[k + 1], near))
            return 0;
        if (k + 2 < n && point[k + 1].f == 0.0) {
            level_at(&s->to, point[k + 1].x);
            if (!keep(s, point[k + 1].x, near, 0))
                return 0;
        }
    }
    return 1;
}

static pi2_outcome search_all(search *s, double asymptote)
{
    const pi2_path *const path = s->path;
    const double first = atan2(path->values[1], path->values[0]);
    s->turns = round((asymptote - first) / TURN);
    pi2_sample hidden[2] = {{NAN, NAN}, {NAN, NAN}};
    for (size_t i = 0; i < path->n; i++) {
        const double *const here = path->values + 2 * i;
        const int on = side(&s->to, here), eligible = !s->to.phase || here[0] < 0.0;
        if (on == 0 && eligible) {
            memcpy(s->to.value, here, sizeof s->to.value);
            const int before = side(&s->to, i ? here - 2 : here), after = side(&s->to, i + 1 < path->n ? here + 2 : here);
            if (!keep(s, log(path->w[i]), atan2(here[1], here[0]) + TURN * s->turns, (before - after) / 2))
                return PI2_NO_MEMORY;
        }
        if (i + 1 == path->n)
            break;
        const int next = side(&s->to, here + 2);
        s->turns += pi2_turns_between(here, here + 2);
        hidden[0] = hidden[1];
        hidden[1] = touched(s, i + 1);
        const int same = eligible && (!s->to.phase || here[2] < 0.0);
        if ((on * next < 0 && same) || !isnan(hidden[0].x) || !isnan(hidden[1].x))
            if (!cross_cell(s, i, hidden))
                return PI2_NO_MEMORY;
        if (s->to.failed)
            return PI2_NO_MEMORY;
    }
    return PI2_DONE;
}

/* Evaluates the curve itself where the path is so near to |L| = 1 or to the negative axis that a sketch of it may err in
 * the side. */
static int correct(pi2_path *path, const pi2_curve *curve)
{
    const double near = 1e-3;
    for (size_t i = 0; i < path->n; i++) {
        double *const value = path->values + 2 * i;
        const double size = value[0] * value[0] + value[1] * value[1];
        const int close = fabs(size - 1.0) < 2.0 * near || (value[0] < 0.0 && fabs(value[1]) < -near * value[0]);
        if (close && !curve->at(curve->of, 1, &path->w[i], value))
            return 0;
    }
    return 1;
}

pi2_outcome pi2_path_cross(pi2_path *path, const pi2_curve *curve, const pi2_curve *sketch, double asymptote, double end,
                           int reached, pi2_crossings *gain, pi2_crossings *phase)
{
    if (!correct(path, curve))
        return PI2_NO_MEMORY;
    gain->n = phase->n = 0;
    search gains = {.path = path, .sketch = sketch, .mirrored = reached, .to = {.curve = curve, .end = end}, .found = gain};
    search phases = gains;
    phases.to.phase = 1;
    phases.found = phase;
    pi2_outcome outcome = search_all(&gains, asymptote);
    if (outcome == PI2_DONE)
        outcome = search_all(&phases, asymptote);
    const double last = path->values[2 * path->n - 2];
    if (outcome == PI2_DONE && reached && last < 0.0 && !append(phase, end, -last, path->values[2 * path->n - 1] < 0.0 ? 1 : -1))
        outcome = PI2_NO_MEMORY;
    return outcome;
}

/* --- |1 + L| --------------------------------------------------------------------------------- */

typedef struct {
    const pi2_curve *curve;
    int failed;
} distant;

static double distance_of(const double *value)
{
    return hypot(1.0 + value[0], value[1]);
}

static double distance_at(void *of, double x)
{
    distant *const p = of;
    const double w = exp(x);
    double value[2] = {0.0, 0.0};
    p->failed |= !p->curve->at(p->curve->of, 1, &w, value);
    return distance_of(value);
}

pi2_outcome pi2_path_nearest(const pi2_path *path, const pi2_curve *curve, double *distance)
{
    distant of = {curve, 0};
    double least = INFINITY;
    for (size_t i = 0; i < path->n; i++)
        least = fmin(least, distance_of(path->values + 2 * i));
    *distance = INFINITY;
    double before = INFINITY, here = distance_of(path->values);
    for (size_t i = 0; i < path->n; i++) {
        const double after = i + 1 < path->n ? distance_of(path->values + 2 * i + 2) : INFINITY;
        /* as neighbours do, a minimum hides no deeper than this */
        if (here <= before && here <= after && here < least + 0.5 * (1.0 + least)) {
            const size_t low = i ? i - 1 : 0, high = i + 1 < path->n ? i + 1 : i;
            const pi2_sample a = {log(path->w[low]), before}, b = {log(path->w[high]), after};
            pi2_sample x = {log(path->w[i]), here};
            x.f = distance_at(&of, x.x);
            *distance = fmin(*distance, x.f);
            if (low == i || high == i) {
                x.x = 0.5 * (a.x + b.x);
                x.f = distance_at(&of, x.x);
            }
            *distance = fmin(*distance, pi2_smallest_between(distance_at, &of, a, x, b, -INFINITY).f);
        }
        before = here;
        here = after;
    }
    return of.failed ? PI2_NO_MEMORY : PI2_DONE;
}
