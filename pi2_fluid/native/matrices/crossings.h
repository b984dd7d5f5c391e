/* Where a matrix loop crosses over, found on its loci and polished on the determinant; and what its search needs to know
 * beside them: pi2_fluid/loop/matrix/margins.py and bounds.py say what is done here, and why. Pure C11.
 */
#pragma once

#include "margins/search/curve.h"
#include "matrices/loci.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    pi2_matrices response;
    double (*bound)(const void *of, double w); /* of all eigenvalues from w on; infinite while w is too low for it */
    const void *of;                            /* whose bound it is */
    double turning;                            /* 1/s: 1 over the longest delay */
    double end;                                /* rad/s: pi/T of a sampled loop; else infinite */
} pi2_matrix_search;

typedef struct {
    double w, left; /* rad/s; the angle to -1, or minus ln of the size */
    int enters;     /* as of `PhaseCrossing` */
} pi2_matrix_crossing;

/* Room, used again. All zero: empty. */
typedef struct {
    pi2_path grid;
    pi2_loci loci;
    size_t gains, phases, room;
    pi2_matrix_crossing *crossing; /* gain crossovers, then phase crossovers, both by rising frequency */
} pi2_matrix_crossings;

void pi2_matrix_crossings_free(pi2_matrix_crossings *found);

/* `quiet`: up to where gains above 1 do not matter any more. */
pi2_loci_outcome pi2_find_matrix_crossings(const pi2_matrix_search *search, int quiet, pi2_matrix_crossings *found);

/* The smallest singular value of I + L, 1 at most, from where crossovers were found on and, of a loop that fades, beyond. */
pi2_loci_outcome pi2_nearest_to_singular(const pi2_matrices *response, int fades, size_t n, const double *w, double *least);

#ifdef __cplusplus
}
#endif
