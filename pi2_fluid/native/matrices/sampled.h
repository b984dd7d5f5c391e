/* The exact loop of links that update together every T seconds, as a matrix over frequency: pi2_fluid/loop/matrix/sampled.py
 * says what is computed here, and why. Pure C11. Tables are rows one after the other.
 */
#pragma once

#include "matrices/plant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const pi2_matrix_plant *plant;
    double interval;                       /* T (s) */
    const int *counts;                     /* of each link: whether it has no queue, and counts what arrives */
    const double *units;                   /* what each update sees, per unknown of its link */
    const pi2_matrix_controller *update;   /* of each link, in rising powers of 1 - e^{-sT} */
    int terms;                             /* of what G/s is at large s: */
    double rate;                           /* 1/s */
    const double *delay, *square, *cube;   /* s; over (s + rate)^2 and over its cube: (terms, links * links) */
    int degrees;                           /* of the sum over all aliases but the two next to 0, on 0 < w <= pi/T: */
    const number *far;                     /* in polynomials of Chebyshev's, (degrees, links * links) */
} pi2_sampled_matrix;

/* L_d at z = e^{jwT}, 0 < w <= pi/T, from open links to open links; 0 if a matrix is singular. */
int pi2_sampled_response(const pi2_sampled_matrix *loop, size_t n, const double *w, number *values);

/* det(I + L_d) of all links, times the denominators of the updates, as a curve of margins/search; NaN where it is not to be
 * had. */
int pi2_sampled_characteristic(const void *loop, size_t n, const double *w, double *values);

#ifdef __cplusplus
}
#endif
