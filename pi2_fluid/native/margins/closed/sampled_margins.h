/* Margins of one class in one queue, exactly sampled, whose crossovers are proved unique. Pure C11.
 *
 * With v = w R, theta = T/R, y = e^{-jv theta} and v_k = v + 2 pi k/theta,
 *
 *     L = m a (1 + rho (1 - y)) sum over all k of F(v_k),    F(v) = e^{-jv}/(jv (1 + jv) (jv + mu h)),
 *
 * a = alpha R^2/T, rho = beta/alpha, h = 1 + e^{-jv} (Reno family) or e^{-jv} (scalable), and (1 - e^{-jv})/(1 + jv) more where
 * round-trip times vary. docs/proofs.md proves ("The sampled loop crosses once, too") that crossovers up to PI2_SAMPLED_LAST and
 * PI2_SAMPLED_TURN are the only ones that matter.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The domain of the proof: mu as in domain.h, theta up to this, and both crossovers up to v and v theta as below. */
#define PI2_SAMPLED_THETA 2.0
#define PI2_SAMPLED_LAST 2.6
#define PI2_SAMPLED_TURN 1.8

typedef struct {
    const double *m, *mu, *a, *rho, *theta;
} pi2_sampled_input;

typedef struct {
    double *gm_db, *pm_deg; /* pm_deg is the continuous phase + 180 degrees */
    double *v_gc, *v_pc;    /* at the gain and at the phase crossover */
} pi2_sampled_output;

/* Fills n results; NaN where the proof does not hold or a crossover lies elsewhere. `simd` is an index of pi2_simd_name. */
void pi2_sampled_margins(int simd, int scalable, int varies, size_t n, pi2_sampled_input input, pi2_sampled_output output);

#ifdef __cplusplus
}
#endif
