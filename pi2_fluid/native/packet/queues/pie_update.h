/* PIE's update of its drop probability: in the integers of two generations of Linux, and in real numbers.
 * RFC 8033, section 4.2; Linux 6.18 and 4.14, net/sched/sch_pie.c; real numbers: packet/controllers/pie.c.
 *
 * Time is in ticks: 64 ns in integers, 1 ns in real numbers. */
#pragma once

#include <stdint.h>

#include "packet/controllers/pie.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PI2_PIE_REAL,    /* real numbers; p is reported in 1/(2^56 - 1) */
    PI2_PIE_56_BITS, /* Linux since 5.1: p in 1/(2^56 - 1), kept in 64 bits */
    PI2_PIE_32_BITS  /* Linux 3.14 to 5.0: p in 1/(2^32 - 1), kept in 32 bits */
};

typedef struct {
    int arithmetic;       /* one of the above */
    int quirks;           /* 1, integers only: sums wrap around as those of the kernel do, and p may exceed 1 */
    int shift;            /* a time of t ns is t >> shift ticks */
    uint64_t full;        /* p = 1 */
    uint64_t alpha, beta; /* integers: 16 times the units of p per tick */
    int rows;             /* integers: how many steps the table of gains has */
    int cap, boost;       /* integers: whether p moves by 2 % at most above 10 %; by 2 % more above 250 ms */
    int decay;            /* whether p decays while the queue is idle */
    int strict_idle;      /* 1: a queue with a backlog is not idle, even at a delay of 0 (Linux) */
    int64_t target;       /* ticks */
    pi2_pie law;          /* real numbers: what packet/controllers/pie.c is configured by */
} pi2_pie_params;

typedef struct {
    uint64_t p;       /* in units of 1/full */
    int64_t before;   /* ticks, delay at the last update */
    double state[3];  /* real numbers: u, delay before (s), what is left of the burst allowance (s) */
} pi2_pie_vars;

/* The parameters for one arithmetic; 0 if they are not what they can be. */
int pi2_pie_setup(pi2_pie_params *params, const pi2_pie *law, int arithmetic, int quirks);

void pi2_pie_start(const pi2_pie_params *params, pi2_pie_vars *vars);

/* One update at a delay of `delay` ticks; `backlog` tells whether packets wait. Returns 1 if the queue is calm: p is
 * 0 and both this delay and the last are below half the target. */
int pi2_pie_update(const pi2_pie_params *params, pi2_pie_vars *vars, int64_t delay, int backlog);

/* p as a number; it may exceed 1 with quirks. */
static inline double pi2_pie_probability(const pi2_pie_params *params, const pi2_pie_vars *vars)
{
    return params->arithmetic == PI2_PIE_REAL ? vars->state[0] : (double)vars->p / (double)params->full;
}

#ifdef __cplusplus
}
#endif
