/* Curves over real frequencies, followed closely enough that no turn is missed: pi2_fluid/loop/tracking.py and
 * crossovers.py say what is done here, and why. Pure C11. Complex numbers are pairs of doubles.
 */
#pragma once

#include <limits.h>
#include <math.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    PI2_DONE,
    PI2_NO_MEMORY,
    PI2_TOO_OFTEN,    /* turns more often than there is room to follow */
    PI2_NO_ASYMPTOTE, /* at low frequency */
    PI2_NOT_FADING    /* at high frequency */
} pi2_outcome;

typedef struct {
    int (*at)(const void *of, size_t n, const double *w, double *values); /* 0 if memory lacks */
    const void *of;
} pi2_curve;

/* Frequencies (rad/s) in rising order, and a curve there. All zero: empty. */
typedef struct {
    size_t n, room;
    double *w, *values;
    unsigned char *followed; /* 1 where the step to the next frequency is short enough */
} pi2_path;

void pi2_path_free(pi2_path *path);

/* Frequencies from `low` to `high`, logarithmic but never more than `spacing` apart; with `finer` times the usual number of
 * points per decade. */
pi2_outcome pi2_path_grid(pi2_path *path, double low, double high, double spacing, double finer);

/* Takes n frequencies more, rising, of which those count that lie between the first and the last one. */
pi2_outcome pi2_path_include(pi2_path *path, size_t n, const double *w);

/* Evaluates the curve there, and between neighbours that differ by 0.4 or more in phase and in ln|L|; `spare` is room. */
pi2_outcome pi2_path_follow(pi2_path *path, const pi2_curve *curve, pi2_path *spare);

/* By how many turns the phase gains on its angle from one point to the next: where the negative axis is crossed. */
static inline double pi2_turns_between(const double *a, const double *b)
{
    if (signbit(a[1]) == signbit(b[1]))
        return 0.0;
    const double at = a[0] * fabs(b[1]) + b[0] * fabs(a[1]); /* where the chord meets the axis, times something positive */
    return at < 0.0 ? (signbit(b[1]) ? 1.0 : -1.0) : 0.0;
}

/* Instead of a count of zeros: one lies on the contour. */
#define PI2_ON_CONTOUR INT_MIN

/* By how much the phase of a followed path changes (rad); NaN if it passes through 0. */
double pi2_path_change(const pi2_path *path);

/* By how much it changes from one value to the next. */
double pi2_angle_between(const double *a, const double *b);

/* A change of phase along half a contour, from one value to another that are nearly real, as a number of zeros. */
int pi2_zeros_of(double change, const double *first, const double *last);

/* Zeros on the right of a contour of which a followed path is half, and from there on to `end` the curve `rest`, unless
 * that is NULL, which the curve stays within 30 degrees of. */
pi2_outcome pi2_path_turns(const pi2_path *path, const pi2_curve *rest, double end, int *zeros);

#ifdef __cplusplus
}
#endif
