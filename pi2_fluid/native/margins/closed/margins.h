/* Gain and phase margins of the PI-controlled loop, millions of points at a time. Pure C11.
 *
 *   L(jv) = m (a + j c v) e^{-jv} / (jv (1 + jv) (jv + mu h)),   v = w R,
 *   h = 1 + e^{-jv} (Reno family, 0 <= mu <= 0.7072) or e^{-jv} (scalable, 0 <= mu <= 1/2),
 *
 * with a = alpha R^2/T, c = (beta + alpha/2) R, mu = 1/(window in segments) and m the plant's gain factor
 * (2 sqrt(decrease) for Reno under p'^2, 1/2 for a scalable sender under p'). Frozen round-trip time, continuous PI.
 */
#pragma once

#include <stddef.h>

#include "margins/closed/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const double *m, *mu, *a, *c; /* dimensionless */
    const double *rtt;            /* s */
} pi2_margins_input;

typedef struct {
    double *gm_db;  /* 20 log10 of the factor by which the gain may grow; -inf for mu = 0 and c <= 2 a */
    double *pm_deg; /* continuous phase + 180 degrees at the gain crossover, not wrapped */
    double *w_gc;   /* gain crossover, rad/s */
    double *w_pc;   /* phase crossover, rad/s; 0 where gm_db is -inf */
} pi2_margins_output;

/* Fills n results; the arrays must not overlap. `simd` is an index of pi2_simd_name (0: the fastest).
 * Returns n, or the smallest index of a point outside the domain, whose result is not set. */
size_t pi2_margins(int simd, int scalable, size_t n, pi2_margins_input input, pi2_margins_output output);

/* Instruction sets this build has and this machine can run, fastest first; NULL past the last. */
const char *pi2_simd_name(int simd);

#ifdef __cplusplus
}
#endif
