/* The update of p' in the integers of Linux's sch_dualpi2: delays in ns, p' in 1/(2^32 - 1).
 * Linux 6.18, net/sched/sch_dualpi2.c; RFC 9332, Appendix A.1. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint32_t alpha, beta; /* as pi2_pi_ns_gain returns them */
    uint32_t limit;       /* the largest p' */
    int64_t target;       /* ns */
    int quirks;           /* 1: p' wraps around where one update moves it by 1 or more, as 32 bits do */
} pi2_pi_ns_params;

typedef struct {
    uint32_t p;     /* p' */
    int64_t before; /* ns, delay at the last update */
} pi2_pi_ns_vars;

/* The integer that a kernel keeps a gain in, 1/64 of the units of p' per ns: the nearest. What it makes of a gain
 * that it is asked for, which it cuts off, is decided before. */
uint32_t pi2_pi_ns_gain(double hertz);

/* One update at a delay of `delay` ns. */
void pi2_pi_ns_update(const pi2_pi_ns_params *params, pi2_pi_ns_vars *vars, int64_t delay);

#ifdef __cplusplus
}
#endif
