#include "margins/search/crossings.h"

#include <math.h>
#include <stdlib.h>

#include "elementary.h"

/* As far as the phase of a sampled loop tells from which side it comes to pi/T, where it is real. */
#define NEARLY_ALL (1.0 - 1e-6)
/* Points of a range that costs less than finding a shorter one. */
#define SMALL_GRID 1000.0
/* Of the slowest scale: where the search for the asymptote gives up. */
#define LOWEST 1e-25
/* As far below the slowest corner the phase is its asymptote. */
#define BELOW 100.0
/* Degrees by which the phase margin of a loop on its boundary is wrong. */
#define ROUNDED 1e-9
/* So near to 1 no smaller |1 + L| is looked for. */
#define NEARLY_1 1e-6
/* Factors that may turn by 0.1 rad each, from one frequency of the grid to the next. */
#define FACTORS 8.0

void pi2_searching_free(pi2_searching *room)
{
    pi2_path_free(&room->path);
    pi2_path_free(&room->spare);
    pi2_crossings_free(&room->gain);
    pi2_crossings_free(&room->phase);
}

/* --- crossings ------------------------------------------------------------------------------- */

/* A frequency below which L has its asymptotic phase and, with an integrator, a gain > 2, without, one on the side of 1 where
 * it stays; 0: none. A phase that is a full turn
 * away looks the same: on the way to below the slowest corner it must be left nowhere. */
static double low_end(const pi2_curve *curve, double start, double asymptote, double slow, pi2_outcome *outcome)
{
    const double re = cos(asymptote), im = sin(asymptote);
    double found = 0.0, rest[2];
    const double still = 1e-8 * slow;
    if (!curve->at(curve->of, 1, &still, rest)) {
        *outcome = PI2_NO_MEMORY;
        return 0.0;
    }
    const int loud = hypot(rest[0], rest[1]) > 1.0;
    for (double w = start / 100.0; w > start * LOWEST; w /= 4.0) {
        double L[2];
        if (!curve->at(curve->of, 1, &w, L)) {
            *outcome = PI2_NO_MEMORY;
            return 0.0;
        }
        const double off = fabs(atan2(L[1] * re - L[0] * im, L[0] * re + L[1] * im));
        const double size = hypot(L[0], L[1]);
        const int settled = off < 0.02 && (asymptote == 0.0 ? (size > 1.0) == loud : size > 2.0);
        found = !settled ? 0.0 : found > 0.0 ? found : w;
        if (settled && w * BELOW <= slow)
            return found;
    }
    *outcome = PI2_NO_ASYMPTOTE;
    return 0.0;
}

static double loudest(const pi2_crossings *phase, int quiet)
{
    double best = 0.0;
    for (size_t k = 0; k < phase->n; k++)
        if (!quiet || phase->at[k].value < 1.0)
            best = fmax(best, phase->at[k].value);
    return best;
}

pi2_outcome pi2_find_crossings(const pi2_linear_loop *loop, pi2_searching *room, int quiet)
{
    if (loop->integrators < 0)
        return PI2_NO_ASYMPTOTE;
    const pi2_curve curve = pi2_linear_response(loop), sketch = pi2_linear_sketch(loop);
    const double end = pi2_linear_end(loop), turning = 1.0 / pi2_linear_longest(loop), top = NEARLY_ALL * end;
    const double asymptote = -PI2_PI / 2.0 * loop->integrators, spacing = fmin(0.4 * turning, top / 8.0);
    pi2_outcome outcome = PI2_DONE;
    const double low = low_end(&sketch, fmin(turning, top / 8.0), asymptote, loop->slow, &outcome);
    if (outcome != PI2_DONE)
        return outcome;
    double high = top;
    if (top / spacing > SMALL_GRID) {
        const double fading = pi2_linear_fading(loop, 1.0);
        if (isnan(fading))
            return PI2_NOT_FADING;
        high = fmin(top, fmax(fading, 8.0 * low));
    }
    for (;;) {
        outcome = pi2_path_grid(&room->path, low, high, spacing, 1.0);
        if (outcome == PI2_DONE)
            outcome = pi2_path_follow(&room->path, &sketch, &room->spare);
        if (outcome == PI2_DONE)
            outcome = pi2_path_cross(&room->path, &curve, sketch.at == curve.at ? NULL : &sketch, asymptote, end,
                                     high == top, &room->gain, &room->phase);
        if (outcome != PI2_DONE || high == top)
            return outcome;
        if (loudest(&room->phase, quiet) > pi2_linear_bound(loop, high))
            return PI2_DONE;
        high = fmin(top, 2.0 * high + 2.0 * PI2_PI * turning);
    }
}

/* --- unstable modes -------------------------------------------------------------------------- */

static pi2_outcome count_right(const pi2_linear_loop *loop, const pi2_curve *curve, double degree, pi2_searching *room,
                               int *count)
{
    enum { POINTS = 60 };
    const double scale = 1.0 / pi2_linear_longest(loop);
    double high = 10.0 * scale, worst;
    for (;;) {
        double w[POINTS], value[2 * POINTS];
        for (int i = 0; i < POINTS; i++)
            w[i] = high * pow(1e4, (double)i / (POINTS - 1));
        if (!curve->at(curve->of, POINTS, w, value))
            return PI2_NO_MEMORY;
        worst = 0.0;
        for (int i = 0; i < POINTS; i++)
            worst = fmax(worst, hypot(value[2 * i] - 1.0, value[2 * i + 1]));
        if (!(worst > 0.3))
            break;
        high *= 3.0;
        if (high > 1e12 * scale)
            return PI2_NOT_FADING;
    }
    const double finer = fmax(1.0, degree / FACTORS), low = 1e-6 * fmin(loop->slow, scale);
    pi2_outcome outcome = pi2_path_grid(&room->path, low, high, 0.4 * scale / finer, finer);
    if (outcome == PI2_DONE)
        outcome = pi2_path_follow(&room->path, curve, &room->spare);
    return outcome == PI2_DONE ? pi2_path_turns(&room->path, NULL, 0.0, count) : outcome;
}

/* The denominator of a sampled controller times 1 + L. */
typedef struct {
    pi2_curve denominator, L;
    double nearest; /* of |1 + L| */
} returned;

static int return_difference(const void *of, size_t n, const double *w, double *values)
{
    const returned *const p = of;
    double bottom[2];
    if (!p->L.at(p->L.of, n, w, values))
        return 0;
    for (size_t i = 0; i < n; i++) {
        double *const value = values + 2 * i;
        if (!p->denominator.at(p->denominator.of, 1, &w[i], bottom))
            return 0;
        const double re = 1.0 + value[0], im = value[1];
        ((returned *)of)->nearest = fmin(p->nearest, hypot(re, im));
        value[0] = re * bottom[0] - im * bottom[1];
        value[1] = re * bottom[1] + im * bottom[0];
    }
    return 1;
}

pi2_outcome pi2_count_unstable(const pi2_linear_loop *loop, pi2_searching *room, int *count)
{
    if (loop->integrators < -1)
        return PI2_NO_ASYMPTOTE;
    double degree = 1.0;
    for (size_t c = 0; c < loop->classes; c++)
        degree += loop->cls[c].states;
    if (loop->update != PI2_SAMPLED) {
        const pi2_curve closed = pi2_linear_closed(loop);
        return count_right(loop, &closed, degree + loop->degree, room, count);
    }
    const pi2_curve open = pi2_linear_open(loop);
    pi2_outcome outcome = count_right(loop, &open, degree, room, count);
    if (outcome != PI2_DONE || *count == PI2_ON_CONTOUR)
        return outcome;
    const double end = pi2_linear_end(loop), low = 1e-6 * fmin(loop->slow, end);
    /* where |L| < 1/2 for certain, only the denominator turns: what it still turns is added */
    const double high = pi2_linear_fading(loop, 0.5);
    if (isnan(high))
        return PI2_NOT_FADING;
    const pi2_curve denominator = pi2_linear_denominator(loop);
    int turns = PI2_ON_CONTOUR;
    /* a sketch that passes near -1 may do so on the wrong side */
    const pi2_curve by[2] = {pi2_linear_sketch(loop), pi2_linear_response(loop)};
    for (int k = 0; k < 2; k++) {
        returned of = {denominator, by[k], INFINITY};
        const pi2_curve curve = {return_difference, &of};
        outcome = pi2_path_grid(&room->path, low, high, fmin(0.4 / pi2_linear_longest(loop), end / 8.0), 1.0);
        if (outcome == PI2_DONE)
            outcome = pi2_path_follow(&room->path, &curve, &room->spare);
        if (outcome == PI2_DONE)
            outcome = pi2_path_turns(&room->path, &denominator, end, &turns);
        if (outcome != PI2_DONE || (of.nearest > 0.01 && turns != PI2_ON_CONTOUR))
            break;
    }
    *count = turns == PI2_ON_CONTOUR ? turns : *count + turns;
    return outcome;
}

/* --- margins --------------------------------------------------------------------------------- */

static int by_factor(const void *a, const void *b)
{
    const double first = ((const pi2_crossing *)a)->value, second = ((const pi2_crossing *)b)->value;
    return (second > first) - (second < first);
}

/* The factors at which a verdict changes: pi2_fluid/loop/stable_gains.py. Sorts the crossings. */
static void stable_gains(pi2_crossings *phase, int unstable, double *upper, double *w_pc, double *lower)
{
    if (phase->n)
        qsort(phase->at, phase->n, sizeof *phase->at, by_factor);
    size_t above = 0; /* factors of 1 and less come before it */
    while (above < phase->n && phase->at[above].value >= 1.0)
        above++;
    *w_pc = INFINITY;
    if (unstable > 0) {
        *upper = 0.0;
        *lower = INFINITY;
        int modes = unstable;
        for (size_t k = above; k-- > 0;) /* the last one, from which down it stays stable, as far as any gain does */
            if ((modes -= phase->at[k].enters) == 0) {
                *upper = 1.0 / phase->at[k].value;
                *w_pc = phase->at[k].w;
            }
        modes = unstable;
        for (size_t k = above; k < phase->n && modes != 0; k++)
            if ((modes += phase->at[k].enters) == 0)
                *lower = 1.0 / phase->at[k].value;
        return;
    }
    size_t next = above, before = above; /* the next above, one more than the next below */
    if (unstable == PI2_ON_CONTOUR && above > 0
        && (above == phase->n || fabs(log(phase->at[above - 1].value)) < fabs(log(phase->at[above].value))))
        next = before = above - 1;
    *upper = next < phase->n ? 1.0 / phase->at[next].value : INFINITY;
    *w_pc = next < phase->n ? phase->at[next].w : INFINITY;
    *lower = before > 0 ? 1.0 / phase->at[before - 1].value : 0.0;
}

pi2_outcome pi2_find_margins(const pi2_linear_loop *loop, pi2_searching *room, pi2_loop_margins *margins)
{
    pi2_outcome outcome = pi2_find_crossings(loop, room, 0);
    if (outcome != PI2_DONE)
        return outcome;
    const double high = room->path.w[room->path.n - 1], most = loudest(&room->phase, 0);
    const int asked = !loop->settles || most >= 1.0 || room->gain.n > 1;
    int count = 0;
    if (asked) {
        outcome = pi2_count_unstable(loop, room, &count);
        if (outcome != PI2_DONE)
            return outcome;
    }
    if (most >= 1.0 && high < NEARLY_ALL * pi2_linear_end(loop)) {
        outcome = pi2_find_crossings(loop, room, 1); /* what comes where the gain is less counts, too */
        if (outcome != PI2_DONE)
            return outcome;
    }
    double upper, lower, w_pc;
    stable_gains(&room->phase, count, &upper, &w_pc, &lower);
    *margins = (pi2_loop_margins){20.0 * log10(upper), INFINITY, INFINITY, w_pc, INFINITY, 20.0 * log10(lower), NAN};
    if (asked)
        margins->unstable = count == PI2_ON_CONTOUR ? -1.0 : count;
    for (size_t k = 0; k < room->gain.n; k++) {
        const double w = room->gain.at[k].w;
        double angle = room->gain.at[k].value;
        if (count == 0)
            angle -= 360.0 * floor((angle + ROUNDED) / 360.0);
        if (angle < margins->pm_deg) {
            margins->pm_deg = angle;
            margins->w_gc = w;
        }
        margins->delay = fmin(margins->delay, angle * (PI2_PI / 180.0) / w);
    }
    return PI2_DONE;
}

pi2_outcome pi2_find_nearest(const pi2_linear_loop *loop, pi2_searching *room, double *distance)
{
    const pi2_curve curve = pi2_linear_response(loop);
    const double turning = 1.0 / pi2_linear_longest(loop), top = NEARLY_ALL * pi2_linear_end(loop);
    pi2_outcome outcome = pi2_find_crossings(loop, room, 0);
    if (outcome == PI2_DONE)
        outcome = pi2_path_nearest(&room->path, &curve, distance);
    *distance = fmin(*distance, 1.0);
    /* beyond the crossings of a loop that is not stable its curve may come nearer to -1 than it has */
    while (outcome == PI2_DONE) {
        const double from = room->path.w[room->path.n - 1], high = fmin(top, 2.0 * from + 2.0 * PI2_PI * turning);
        if (!(from < top) || pi2_linear_bound(loop, from) <= fmax(1.0 - *distance, NEARLY_1))
            break;
        double beyond = INFINITY;
        outcome = pi2_path_grid(&room->path, from, high, 0.4 * turning, 1.0);
        if (outcome == PI2_DONE)
            outcome = pi2_path_follow(&room->path, &curve, &room->spare);
        if (outcome == PI2_DONE)
            outcome = pi2_path_nearest(&room->path, &curve, &beyond);
        *distance = fmin(*distance, beyond);
    }
    return outcome;
}
