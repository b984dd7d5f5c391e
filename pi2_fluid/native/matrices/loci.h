/* Eigenvalues of a matrix over frequency, each followed as a curve of its own: pi2_fluid/loop/matrix/eigenloci.py says what
 * is done here, and why. Pure C11.
 */
#pragma once

#include <stddef.h>

#include "margins/search/curve.h"
#include "margins/search/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* L(jw), so many rows, at n frequencies; 0 if it has none. */
typedef struct {
    int (*at)(const void *of, size_t n, const double *w, number *values);
    const void *of;
    int rows;
} pi2_matrices;

typedef struct {
    size_t n, room;
    double *w;              /* rad/s, rising */
    number *values;         /* (n, rows): after pi2_loci_follow every column is one locus, the largest first */
    unsigned char *settled; /* whether from here to the next it is clear which is which */
} pi2_loci;

void pi2_loci_free(pi2_loci *loci);

typedef enum {
    PI2_LOCI_FOUND,
    PI2_LOCI_ELSEWHERE, /* nothing wrong is known, but it was not found here */
    PI2_LOCI_NO_MEMORY
} pi2_loci_outcome;

/* 0 if a matrix or its eigenvalues are not to be had. */
int pi2_eigenvalues_at(const pi2_matrices *of, size_t n, const double *w, number *values);

/* From frequencies in a grid to loci there and in between. */
pi2_loci_outcome pi2_loci_follow(const pi2_matrices *of, const pi2_path *grid, pi2_loci *loci);

/* Which on the right each on the left becomes, and how far |ln(e/e')| it goes; whether two that are near a level could as
 * well be each other. */
int pi2_match(int rows, const number *left, const number *right, int *order, double *steps);

#ifdef __cplusplus
}
#endif
