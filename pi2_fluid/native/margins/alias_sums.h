/* What sampling adds up: a loop's response at all the aliases s_k = s + 2 pi j k/T of a frequency. Pure C11.
 *
 * The aliases -count - 1 <= k <= count, pairs about pi/T, are summed as they are. Beyond them the response is its leading
 * terms at large s, whose sums over all aliases are known in closed form. Complex numbers are pairs of doubles.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A class of flows with one state, linearised: the queue obeys s d = -sum(drive) u + sum(feedback) d. */
typedef struct {
    double a0, a1; /* response of dx/dt to the state now and one round trip ago, 1/s */
    double b;      /* to the controller's variable one round trip ago */
    double e0, e1; /* to the queue delay now and one round trip ago */
    double c, r;   /* of the sending rate to the state and to the queue delay */
    double weight; /* flows per unit of capacity */
    double rtt;    /* s */
    double lead;   /* s by which the rate leads, 0 without */
} pi2_linear_class;

/* Leading terms of one delay: e^{-s delay} sum over m = 2, 3, 4 of order[m - 2]/(s + 1/T)^m. */
typedef struct {
    double delay;
    double order[3];
} pi2_echo;

/* (1/T) times the sum over all k of G(s_k)/s_k, at n points; `s` and `sums` hold n pairs. Returns 0 if memory lacks. */
int pi2_alias_sums(size_t classes, const pi2_linear_class *cls, size_t echoes, const pi2_echo *echo, double interval,
                   size_t count, size_t n, const double *s, double *sums);

/* One loop of a design, in units of its round-trip time: with v = w R and h = e^{-jv} (1 + 2 (kappa/(jv + kappa))^2)
 * the response is h/(jv ((1 + jv)(jv + mu (one + h)) + varies mu (1 - e^{-jv}))), its leading terms are
 * e^{-jv} (1/(jv + near)^3 - mu e^{-jv}/(jv + near)^4). */
typedef struct {
    double rtt, mu, one, varies, kappa, near;
} pi2_design_loop;

/* The sum of the response over all aliases, at the same n frequencies `w` (rad/s) for each of `loops`, or at n of its
 * own if `each`; `sums` holds loops * n pairs. Returns 0 if memory lacks. */
int pi2_design_alias_sums(size_t loops, const pi2_design_loop *loop, double interval, size_t count, size_t n, int each,
                          const double *w, double *sums);

#ifdef __cplusplus
}
#endif
