/* Inside the margins of sampled loops: several of them side by side. */
#pragma once

#include <stdint.h>

enum { PI2_SAMPLED_WIDE = 8, PI2_SAMPLED_PAIRS = 32 };

/* Beyond the aliases that are summed one by one F is e/(jv + near)^3 + e (far - mu e)/(jv + near)^4, e = e^{-jv} and
 * near = 1/theta. What is known of all of that at once: y^{n} times these of the sums over m of m^{0, 1, 2, 3} (y/e)^m, for the
 * first n from one and from two round trips on, which are late[] updates behind these. */
typedef struct {
    double loud[PI2_SAMPLED_WIDE]; /* m a */
    double mu[PI2_SAMPLED_WIDE], rho[PI2_SAMPLED_WIDE], theta[PI2_SAMPLED_WIDE];
    double near[PI2_SAMPLED_WIDE], far[PI2_SAMPLED_WIDE];
    double shift[PI2_SAMPLED_WIDE]; /* 2 pi/theta, and e^{-j shift} */
    double turn_re[PI2_SAMPLED_WIDE], turn_im[PI2_SAMPLED_WIDE];
    double late[2][PI2_SAMPLED_WIDE], on[2][4][PI2_SAMPLED_WIDE];
} pi2_sampled_lanes;

/* Where a curve falls through 0: ln |L| in dB, or the phase above -180 degrees in rad. */
typedef struct {
    double v[PI2_SAMPLED_WIDE], high[PI2_SAMPLED_WIDE]; /* where to begin, and where to stop */
    double slope[PI2_SAMPLED_WIDE];                     /* over ln v, about */
    double other[PI2_SAMPLED_WIDE];                     /* what the other curve is at the crossover */
    uint64_t left[PI2_SAMPLED_WIDE];                    /* 1 where it was not found */
} pi2_sampled_crossing;

/* From where to begin to the crossovers. */
typedef void pi2_sampled_function(const pi2_sampled_lanes *of, pi2_sampled_crossing *gain, pi2_sampled_crossing *phase);
