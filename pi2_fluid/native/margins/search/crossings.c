#include "margins/search/crossings.h"

#include <math.h>
#include <stdlib.h>

#include "elementary.h"
#include "margins/search/ends.h"

/* Points of a range that costs less than finding a shorter one. */
#define SMALL_GRID 1000.0
/* Degrees by which the phase margin of a loop on its boundary is wrong. */
#define ROUNDED 1e-9
/* So near to 1 no smaller |1 + L| is looked for. */
#define NEARLY_1 1e-6

void pi2_searching_free(pi2_searching *room)
{
    pi2_path_free(&room->path);
    pi2_path_free(&room->spare);
    pi2_crossings_free(&room->gain);
    pi2_crossings_free(&room->phase);
}

/* --- crossings ------------------------------------------------------------------------------- */

static double loudest(const pi2_crossings *phase, int quiet)
{
    double best = 0.0;
    for (size_t k = 0; k < phase->n; k++)
        if (!quiet || phase->at[k].value < 1.0)
            best = fmax(best, phase->at[k].value);
    return best;
}

pi2_outcome pi2_find_crossings(const pi2_loop *loop, pi2_searching *room, int quiet)
{
    if (loop->integrators < 0)
        return PI2_NO_ASYMPTOTE;
    const pi2_curve *const curve = &loop->response, *const sketch = &loop->sketch;
    const double turning = 1.0 / loop->longest, whole = PI2_NEARLY_ALL * loop->end, top = pi2_top(loop);
    const double asymptote = -PI2_PI / 2.0 * loop->integrators, spacing = fmin(0.4 * turning, top / 8.0);
    double low;
    pi2_outcome outcome = pi2_low_end(loop, &low);
    if (outcome != PI2_DONE)
        return outcome;
    double high = top;
    if (top == whole && top / spacing > SMALL_GRID) {
        const double fading = pi2_fading(loop, 1.0);
        if (isnan(fading))
            return PI2_NOT_FADING;
        high = fmin(top, fmax(fading, 8.0 * low));
    }
    for (;;) {
        outcome = pi2_path_grid(&room->path, low, high, spacing, 1.0);
        if (outcome == PI2_DONE && loop->landmarks)
            outcome = pi2_path_include(&room->path, loop->landmarks, loop->landmark);
        if (outcome == PI2_DONE)
            outcome = pi2_path_follow(&room->path, sketch, &room->spare);
        if (outcome == PI2_DONE)
            outcome = pi2_path_cross(&room->path, curve, sketch->at == curve->at ? NULL : sketch, asymptote, loop->end,
                                     high == whole, &room->gain, &room->phase);
        if (outcome != PI2_DONE || high == top)
            return outcome;
        if (loudest(&room->phase, quiet) > loop->bound(loop->of, high))
            return PI2_DONE;
        high = fmin(top, 2.0 * high + 2.0 * PI2_PI * turning);
    }
}

pi2_outcome pi2_count_unstable(const pi2_loop *loop, pi2_searching *room, int *count)
{
    return loop->integrators < -1 ? PI2_NO_ASYMPTOTE : loop->count(loop, room, count);
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

pi2_outcome pi2_find_margins(const pi2_loop *loop, pi2_searching *room, pi2_loop_margins *margins)
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
    if (most >= 1.0 && high < pi2_top(loop)) {
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

/* The crossing next to *w, by the secant method, and L there; *w becomes NaN where there is none within half of ln w, or
 * below the end. */
static pi2_outcome cross_near(const pi2_loop *loop, int phase, double *w, double *L)
{
    const double start = log(*w), far = 0.5, enough = 1e-8;
    double x = start, step = 1e-3, last = 0.0;
    for (int i = 0; i < 12; i++) {
        const double at = exp(x);
        if (!(fabs(x - start) < far && at < pi2_top(loop)))
            break;
        if (!loop->response.at(loop->response.of, 1, &at, L))
            return PI2_NO_MEMORY;
        const double f = phase ? atan2(-L[1], -L[0]) : 0.5 * log(L[0] * L[0] + L[1] * L[1]);
        if (f == 0.0 || (i && fabs(step) < enough)) {
            *w = at;
            return PI2_DONE;
        }
        step = i ? -f * step / (f - last) : step;
        last = f;
        x += step;
    }
    *w = NAN;
    return PI2_DONE;
}

pi2_outcome pi2_find_near(const pi2_loop *loop, double *w_gc, double *w_pc, double *gm_db, double *pm_deg)
{
    double L[2];
    *gm_db = *pm_deg = INFINITY;
    if (isfinite(*w_gc)) {
        if (cross_near(loop, 0, w_gc, L) != PI2_DONE)
            return PI2_NO_MEMORY;
        *pm_deg = isnan(*w_gc) ? NAN : atan2(-L[1], -L[0]) * (180.0 / PI2_PI);
    }
    if (isfinite(*w_pc)) {
        if (cross_near(loop, 1, w_pc, L) != PI2_DONE)
            return PI2_NO_MEMORY;
        *gm_db = isnan(*w_pc) ? NAN : -20.0 * log10(hypot(L[0], L[1]));
    }
    return PI2_DONE;
}

pi2_outcome pi2_find_nearest(const pi2_loop *loop, pi2_searching *room, double *distance)
{
    const pi2_curve *const curve = &loop->response;
    const double turning = 1.0 / loop->longest, top = pi2_top(loop);
    pi2_outcome outcome = pi2_find_crossings(loop, room, 0);
    if (outcome == PI2_DONE)
        outcome = pi2_path_nearest(&room->path, curve, distance);
    *distance = fmin(*distance, 1.0);
    /* beyond the crossings of a loop that is not stable its curve may come nearer to -1 than it has */
    while (outcome == PI2_DONE) {
        const double from = room->path.w[room->path.n - 1], high = fmin(top, 2.0 * from + 2.0 * PI2_PI * turning);
        if (!(from < top) || loop->bound(loop->of, from) <= fmax(1.0 - *distance, NEARLY_1))
            break;
        double beyond = INFINITY;
        outcome = pi2_path_grid(&room->path, from, high, 0.4 * turning, 1.0);
        if (outcome == PI2_DONE)
            outcome = pi2_path_follow(&room->path, curve, &room->spare);
        if (outcome == PI2_DONE)
            outcome = pi2_path_nearest(&room->path, curve, &beyond);
        *distance = fmin(*distance, beyond);
    }
    return outcome;
}
