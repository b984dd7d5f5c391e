/* Curves over real frequencies, followed closely enough that no turn is missed: pi2_fluid/loop/tracking.py and
 * crossovers.py say what is done here, and why. Pure C11. Complex numbers are pairs of doubles.
 */
#pragma once

#include <limits.h>
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

/* Evaluates the curve there, and between neighbours that differ by 0.4 or more in phase and in ln|L|; `spare` is room. */
pi2_outcome pi2_path_follow(pi2_path *path, const pi2_curve *curve, pi2_path *spare);

/* What is crossed: |L| = 1, or the negative real axis. */
typedef struct {
    double w;
    double value; /* the phase margin (degrees); |L| */
} pi2_crossing;

typedef struct {
    size_t n, room;
    pi2_crossing *at;
} pi2_crossings;

void pi2_crossings_free(pi2_crossings *crossings);

/* All crossings on a followed path, in rising frequency. The phase at its first frequency is that nearest to `asymptote`
 * (rad). `end` is where the frequencies of a sampled loop end, pi/T, else infinite; if that is `reached`, |L| is even and
 * the phase odd about it, up to full turns. The path may be of a `sketch`, unless that is NULL, within 1e-4 of the curve:
 * near what is crossed it is corrected. */
pi2_outcome pi2_path_cross(pi2_path *path, const pi2_curve *curve, const pi2_curve *sketch, double asymptote, double end,
                           int reached, pi2_crossings *gain, pi2_crossings *phase);

/* The smallest |1 + L| on a followed path and between its points. */
pi2_outcome pi2_path_nearest(const pi2_path *path, const pi2_curve *curve, double *distance);

/* Instead of a count of zeros: one lies on the contour. */
#define PI2_ON_CONTOUR INT_MIN

/* Zeros on the right of a contour of which a followed path is half, and from there on to `end` the curve `rest`, unless
 * that is NULL, which the curve stays within 30 degrees of. */
pi2_outcome pi2_path_turns(const pi2_path *path, const pi2_curve *rest, double end, int *zeros);

#ifdef __cplusplus
}
#endif
