/* Polynomials in s and e = e^{-sR} with real coefficients, determinants of them, and roots of polynomials in s. */
#pragma once

#include "margins/aliases/linear_class.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_POWERS = PI2_STATES + 1, PI2_MOST_ROOTS = 24 };

/* of[i][j] is the coefficient of s^i e^j. */
typedef struct {
    double of[PI2_POWERS][PI2_POWERS];
} pi2_in_s_and_e;

/* The determinant of n rows and columns, by minors: no division, and no powers that cancel. */
pi2_in_s_and_e pi2_determinant(int n, pi2_in_s_and_e entry[PI2_STATES + 1][PI2_STATES + 1]);

/* Real and imaginary parts of the roots that are not 0 of a polynomial whose coefficients are in rising powers; those of
 * leading coefficients that are 0 are infinite, and not among them. Returns how many, -1 if they were not found. */
int pi2_polynomial_roots(const double *rising, int degree, double *re, double *im);

#ifdef __cplusplus
}
#endif
