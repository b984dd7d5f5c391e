/* A loop of a design as alias_sums.h takes it. Pure C11. */
#pragma once

/* One loop of a design, in units of its round-trip time: with v = w R and h = e^{-jv} (1 + 2 (kappa/(jv + kappa))^2)
 * the response is h/(jv ((1 + jv)(jv + mu (one + h)) + varies mu (1 - e^{-jv}))), its leading terms are
 * e^{-jv} (1/(jv + near)^3 - mu e^{-jv}/(jv + near)^4). */
typedef struct {
    double rtt, mu, one, varies, kappa, near;
} pi2_design_loop;
