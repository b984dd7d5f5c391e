/* What the discs of a proof add up, alias by alias: the compiled twin of PlantBounds and terms in
 * pi2_fluid/design/guarantees/enclosure.py, where every bound has its name and its reason. Pure C11.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int scalable, exact, falling;
    double echo, steepest, bend; /* bounds of |h|, |h'| and |h''| */
    double turn;                 /* 2 pi/T */
    double largest;              /* rho beyond which a box is too large */
    int aliases;                 /* on each side */
} pi2_disc_family;

/* Of n boxes; rows of centres and half-widths, and what the controller adds to d ln L/dw and to its change. */
typedef struct {
    const double *w, *rtt, *mu, *dw, *drtt, *dmu, *slope_re, *slope_im, *bend;
} pi2_disc_boxes;

/* The sum of G over the aliases; of |G|; of |G| (e^rho - 1); whether all bounds hold; and what w, R and mu add to rho at
 * k = 0. */
typedef struct {
    double *re, *im, *whole, *spread, *good, *by_w, *by_rtt, *by_mu;
} pi2_disc_sums;

void pi2_disc_terms(const pi2_disc_family *family, size_t n, pi2_disc_boxes boxes, pi2_disc_sums sums);

#ifdef __cplusplus
}
#endif
