/* Small complex matrices, rows one after the other: factors, determinants, eigenvalues, smallest singular values.
 * Pure C11. What a function takes as `number *a` it writes over.
 */
#pragma once

#include "margins/search/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of a matrix, at the most. */
enum { PI2_MATRIX_ROWS = 24 };

/* L U of a with its rows exchanged, of which `pivot` keeps account; 1 or -1, the sign of that, 0: a is singular. */
int pi2_matrix_factor(int n, number *a, int *pivot);

/* b becomes a^-1 b, with so many columns, by what pi2_matrix_factor left. */
void pi2_matrix_solve(int n, const number *factors, const int *pivot, int columns, number *b);

number pi2_matrix_determinant(int n, number *a);

/* det(I + factor a); a stays. */
number pi2_return_determinant(int n, const number *a, number factor);

/* 0 if they were not found. */
int pi2_matrix_eigenvalues(int n, number *a, number *values);

/* The smallest singular value of I + a. */
double pi2_smallest_singular_value(int n, number *a);

/* The largest |eigenvalue| of a matrix of numbers >= 0; infinite if it was not found. */
double pi2_spectral_radius(int n, const double *a);

static inline double size_of(number a)
{
    return hypot(a.re, a.im);
}

static inline number minus(number a, number b)
{
    return (number){a.re - b.re, a.im - b.im};
}

/* e^a */
static inline number raised(number a)
{
    const number turn = turned(-a.im);
    return a.re == 0.0 ? turn : scaled(exp(a.re), turn);
}

#ifdef __cplusplus
}
#endif
