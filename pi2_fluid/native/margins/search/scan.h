/* The margins of many loops, each evaluated at a few frequencies near the crossovers of a twin that has a closed form:
 * the compiled twin of `_scan` in pi2_fluid/design/region.py, for loops that update every T seconds. Pure C11.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One loop as its twin has it: R (s), gain m, 1/window, signals per round trip where the phase may dip, of which kind. */
typedef struct {
    double rtt, m, mu, kappa;
    int scalable;
} pi2_scan_loop;

/* L of one of the loops at n frequencies (rad/s), as n pairs. Returns 0 if memory lacks. */
typedef int pi2_scan_curve(const void *data, size_t loop, size_t n, const double *w, double *values);

typedef struct {
    double alpha, beta, interval;
    double mu_reno, mu_scalable; /* 1/window up to which the twin is that of a closed form */
    double limit;                /* round-trip time from which on a vanishing load has no gain margin */
    int numeric;                 /* the loops are linearised numerically, their twins of another law */
} pi2_scan_design;

/* Gain margin (dB), phase margin (deg) and the smallest |1 + L| of each loop. Returns 0 if memory lacks. */
int pi2_scan(const pi2_scan_design *design, size_t loops, const pi2_scan_loop *loop, pi2_scan_curve *curve,
             const void *data, double *gain_margin, double *phase_margin, double *modulus);

/* Both margins of a twin and both its crossovers (rad/s), with a delay of k R. */
typedef struct {
    double gain_margin, phase_margin, w_gc, w_pc;
} pi2_scan_twin;

pi2_scan_twin pi2_scan_twin_of(const pi2_scan_design *design, const pi2_scan_loop *loop, double k);

#ifdef __cplusplus
}
#endif
