/* A loop by the rate clock, linearised, and its controller: what pi2_fluid/loop/response.py, sampled.py and
 * crossovers.py say of it, on the imaginary axis. Pure C11. Complex numbers are pairs of doubles.
 */
#pragma once

#include <stddef.h>

#include "margins/search/curve.h"
#include "margins/aliases/linear_sums.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for the controller's coefficients. */
#define PI2_CONTROLLER_COEFFICIENTS 8

typedef enum { PI2_CONTINUOUS, PI2_DELAYED, PI2_SAMPLED } pi2_update;

typedef struct {
    pi2_update update;
    size_t classes;
    const pi2_linear_class *cls;
    /* The controller's polynomials, coefficients in rising powers: of s unit, or, if the loop is sampled, of 1 - e^{-sT}. */
    int degree;
    double top[PI2_CONTROLLER_COEFFICIENTS], bottom[PI2_CONTROLLER_COEFFICIENTS];
    double unit;     /* s */
    double interval; /* T (s); 0 if it acts on every packet */
    int integrators; /* poles at 0 of L(s); -1: not followed here, -2: nor are modes counted */
    int settles;     /* whether no mode is known to grow with the loop open */
    double slow;     /* the slowest corner of the open loop, rad/s */
    const pi2_linear_sums *sums;  /* if sampled */
    const pi2_linear_sums *rough; /* of fewer aliases, NULL: none; good enough to say where to look */
} pi2_linear_loop;

/* The longest delay (s), and where frequencies end: pi/T if it is sampled, else infinity. */
double pi2_linear_longest(const pi2_linear_loop *loop);
double pi2_linear_end(const pi2_linear_loop *loop);

/* L(jw), and that by the rough sums if these are within 1e-4 of the others at pi/T, where they differ most. */
pi2_curve pi2_linear_response(const pi2_linear_loop *loop);
pi2_curve pi2_linear_sketch(const pi2_linear_loop *loop);

/* The characteristic function of the closed loop and that of senders and queue alone, over (s + 1/longest)^n: both tend
 * to 1 at high frequency. */
pi2_curve pi2_linear_closed(const pi2_linear_loop *loop);
pi2_curve pi2_linear_open(const pi2_linear_loop *loop);

/* The denominator of a sampled controller. */
pi2_curve pi2_linear_denominator(const pi2_linear_loop *loop);

/* An upper bound of |L(jv)| over v >= w, infinite while w is too low for it. */
double pi2_linear_bound(const pi2_linear_loop *loop, double w);

/* A frequency above which |L| < level for certain; NaN if there is none. */
double pi2_linear_fading(const pi2_linear_loop *loop, double level);

#ifdef __cplusplus
}
#endif
