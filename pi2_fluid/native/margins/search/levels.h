/* What a followed curve crosses, and how near it comes to -1: pi2_fluid/loop/crossovers.py says what is done here, and why.
 * Pure C11.
 */
#pragma once

#include "margins/search/curve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is crossed: |L| = 1, or the negative real axis. */
typedef struct {
    double w;
    double value; /* the phase margin (degrees); |L| */
    int enters;   /* modes that begin to grow as the gain rises beyond 1/|L|; negative: that cease to */
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

#ifdef __cplusplus
}
#endif
