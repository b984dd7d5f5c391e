#include "margins/search/counting.h"

#include <math.h>

#include "margins/search/ends.h"

/* Factors that may turn by 0.1 rad each, from one frequency of the grid to the next. */
#define FACTORS 8.0
/* Of the slowest scale: where a contour begins. */
#define SLOW 1e-6
/* To the right: from so near to the axis, in units of the reach, to where all delays have faded, in units of these. */
#define NEAR 1e-4
#define FAR 40.0
/* Times the usual number of points per decade. */
#define COARSE 0.25

static pi2_outcome follow(const pi2_loop *loop, const pi2_curve *curve, double low, double high, double spacing, double finer,
                          pi2_searching *room)
{
    pi2_outcome outcome = pi2_path_grid(&room->path, low, high, spacing, finer);
    if (outcome == PI2_DONE && loop->landmarks)
        outcome = pi2_path_include(&room->path, loop->landmarks, loop->landmark);
    return outcome == PI2_DONE ? pi2_path_follow(&room->path, curve, &room->spare) : outcome;
}

pi2_outcome pi2_count_right(const pi2_loop *loop, const pi2_curve *curve, double degree, pi2_searching *room, int *count)
{
    enum { POINTS = 60 };
    const double scale = 1.0 / loop->longest;
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
    const double finer = fmax(1.0, degree / FACTORS), low = SLOW * fmin(loop->slow, scale);
    const pi2_outcome outcome = follow(loop, curve, low, high, 0.4 * scale / finer, finer, room);
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

/* Where the contour of a denominator times 1 + L begins: below, L keeps to its asymptote, and such a product to the real
 * axis. */
static double beginning(const pi2_loop *loop)
{
    double low;
    const int known = loop->integrators >= 0 && pi2_low_end(loop, &low) == PI2_DONE;
    return known ? low : SLOW * fmin(loop->slow, fmin(1.0 / loop->longest, loop->end));
}

pi2_outcome pi2_count_sampled(const pi2_loop *loop, const pi2_curve *denominator, pi2_searching *room, int *count)
{
    const double end = loop->end, low = beginning(loop);
    /* where |L| < 1/2 for certain, only the denominator turns: what it still turns is added */
    const double high = pi2_fading(loop, 0.5);
    *count = PI2_ON_CONTOUR;
    if (isnan(high))
        return PI2_NOT_FADING;
    /* a sketch that passes near -1 may do so on the wrong side */
    const pi2_curve by[2] = {loop->sketch, loop->response};
    for (int k = 0; k < 2; k++) {
        returned of = {*denominator, by[k], INFINITY};
        const pi2_curve curve = {return_difference, &of};
        pi2_outcome outcome = follow(loop, &curve, low, high, fmin(0.4 / loop->longest, end / 8.0), 1.0, room);
        if (outcome == PI2_DONE)
            outcome = pi2_path_turns(&room->path, denominator, end, count);
        if (outcome != PI2_DONE || (of.nearest > 0.01 && *count != PI2_ON_CONTOUR))
            return outcome;
    }
    return PI2_DONE;
}

pi2_outcome pi2_count_strip(const pi2_loop *loop, const pi2_curve *along, const pi2_curve *across, pi2_searching *room,
                            int *count)
{
    const double scale = 1.0 / loop->longest, low = beginning(loop);
    const pi2_path *const path = &room->path;
    *count = PI2_ON_CONTOUR;
    pi2_outcome outcome = follow(loop, along, low, loop->reach, 0.4 * scale, 1.0, room);
    if (outcome != PI2_DONE)
        return outcome;
    const double first[2] = {path->values[0], path->values[1]};
    const double corner[2] = {path->values[2 * path->n - 2], path->values[2 * path->n - 1]};
    double change = pi2_path_change(path);
    /* smooth there, as nothing is nearer than the harmonics beyond the reach */
    outcome = pi2_path_grid(&room->path, NEAR * loop->reach, FAR * fmax(loop->reach, scale), INFINITY, COARSE);
    if (outcome == PI2_DONE)
        outcome = pi2_path_follow(&room->path, across, &room->spare);
    if (outcome != PI2_DONE)
        return outcome;
    change += pi2_angle_between(corner, path->values) + pi2_path_change(path);
    if (!isnan(change))
        *count = pi2_zeros_of(change, first, path->values + 2 * path->n - 2);
    return PI2_DONE;
}
