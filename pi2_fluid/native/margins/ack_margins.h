/* Margins of one class in one queue by the clock of acknowledgements, whose crossovers are proved unique. Pure C11.
 *
 * With v = w R, P = (1 - e^{-jv})/(jv) and N = P if cuts are spread over a round trip (`reduces`), 1 if not,
 *
 *     L(jv) = gain (a + j c v) N e^{-jv delay} / (jv (jv + own + cut P)).
 *
 * docs/theory.md proves ("Why there is one crossover of each kind") that crossovers up to v = PI2_ACK_LAST are the only
 * ones that matter.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* sin v/v falls up to 4.4934; |P| there is larger than anywhere beyond 2 pi. */
#define PI2_ACK_LAST 4.49

typedef struct {
    double gain, a, c, own, cut, delay;
    int reduces;
} pi2_ack_form;

/* Gain margin (dB), phase margin (degrees), v at the gain and at the phase crossover. Returns 0 where the proof does not
 * hold or a crossover lies beyond PI2_ACK_LAST. */
int pi2_ack_margins(const pi2_ack_form *form, double result[4]);

#ifdef __cplusplus
}
#endif
