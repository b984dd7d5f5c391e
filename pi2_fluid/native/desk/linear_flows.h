/* A class of flows, linearised where it rests, as matrices: for small deviations x of its state, u of the controller's
 * variable and d of the queue delay, dx/dt = (a0 + a1 e) x + b e u + (e0 + e1 e) d with e the delay of one round-trip time,
 * and its rate is c x + r d.
 */
#pragma once

#include "desk/rest.h"
#include "margins/aliases/linear_class.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int states;
    double a0[PI2_STATES][PI2_STATES], a1[PI2_STATES][PI2_STATES];
    double b[PI2_STATES], e0[PI2_STATES], e1[PI2_STATES], c[PI2_STATES];
    double r, weight, rtt;
    double lead; /* s; 0: none */
} pi2_linear_flows;

/* What a class does to the queue delay (pi2_fluid/loop/link.py), and what it hears. */
typedef struct {
    double weight, lead;
    int feels;    /* whether that delay is part of its own round-trip time */
    double slope; /* of p over the controller's variable */
    int exact;    /* whether its law's own dependence on the round-trip time counts */
} pi2_coupling;

/* The slopes of a sender's law, as tapes whose parameters are the law's numbers: of `rate` over all its inputs, and of
 * `sending` over the state and the round-trip time. */
typedef struct {
    const pi2_tape *rate, *sending;
} pi2_flow_slopes;

/* 0 if a slope is not finite, or there are too many states. */
int pi2_linearize_flows(const pi2_desk_flows *flows, const pi2_flow_slopes *slopes, const pi2_flows_at_rest *rest,
                        const pi2_coupling *coupling, pi2_linear_flows *linear);

/* The same as ratios of polynomials, and the norms that bound it. */
void pi2_describe_flows(const pi2_linear_flows *linear, pi2_linear_class *cls);

/* The rate (1/s) of the fastest that its state does to itself, now or one round trip ago: the largest root of |a0| + |a1|;
 * NaN if it was not found. */
double pi2_fastest_rate(const pi2_linear_flows *linear);

#ifdef __cplusplus
}
#endif
