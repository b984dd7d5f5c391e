/* Beyond which frequency no eigenvalue of a matrix loop is large any more: pi2_fluid/loop/matrix/bounds.py. Pure C11. */
#pragma once

#include "matrices/plant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const pi2_matrix_plant *plant;
    const double *fastest, *driven, *coupled, *at_once; /* norms of the parts of each class, as `sizes_of` has them */
    const double *passes;                               /* bounds of |(I + F)^-1|: (queues, queues) */
} pi2_matrix_sizes;

/* An upper bound of all |eigenvalues| of L(jv) over v >= w; infinite while w is too low for one. */
double pi2_matrix_bound(const void *sizes, double w);

#ifdef __cplusplus
}
#endif
