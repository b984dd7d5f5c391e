/* Margins of one class in one queue by the clock of acknowledgements, whose crossovers are proved unique. Pure C11.
 *
 * With v = w R, P = (1 - e^{-jv})/(jv) and N = P if cuts are spread over a round trip (`reduces`), 1 if not,
 *
 *     L(jv) = gain (a + j c v) N e^{-jv delay} / (jv (jv + own + cut P)).
 *
 * docs/proofs.md proves ("Why there is one crossover of each kind") that crossovers up to v = PI2_ACK_LAST are the only
 * ones that matter.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sin v/v falls up to 4.4934; |P| there is larger than anywhere beyond 2 pi. */
#define PI2_ACK_LAST 4.49
/* No crossover is looked for below. */
#define PI2_ACK_FIRST 1e-9

typedef struct {
    const double *gain, *a, *c, *own, *cut, *delay; /* dimensionless */
} pi2_ack_input;

typedef struct {
    double *gm_db, *pm_deg; /* pm_deg is the continuous phase + 180 degrees, not wrapped */
    double *v_gc, *v_pc;    /* at the gain and at the phase crossover */
} pi2_ack_output;

/* Fills n results; NaN where the proof does not hold or a crossover lies elsewhere. */
void pi2_ack_margins(int reduces, size_t n, pi2_ack_input input, pi2_ack_output output);

#ifdef __cplusplus
}
#endif
