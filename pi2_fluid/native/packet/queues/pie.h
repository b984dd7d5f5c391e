/* What a replay sets and reads of a PIE queue discipline, beyond what the table in qdisc.h gives. */
#pragma once

#include <stdint.h>

#include "packet/core/random.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint64_t p;           /* in the units of its arithmetic; real numbers: 0 */
    int64_t delay;        /* ns, the latest sample */
    int64_t burst;        /* ns, what is left of the allowance */
    uint64_t accumulated; /* sum of p since the last signal, in 1/(2^56 - 1) */
    double probability;   /* p as a number; it may exceed 1 with quirks */
} pi2_pie_view;

void pi2_pie_look(const void *qdisc, pi2_pie_view *view);

/* Holds p (a number in [0, 1]), the delay, the burst allowance and the sum (in units of 1) until the next tick. */
void pi2_pie_hold(void *qdisc, double p, int64_t delay, int64_t burst);
void pi2_pie_accumulate(void *qdisc, double sum);

/* What a tick does with a sample of `delay` ns while `backlog` bytes wait. */
void pi2_pie_sample(void *qdisc, int64_t delay, int64_t backlog);

/* Whether a packet that meets `backlog` bytes is to be dropped or marked. */
int pi2_pie_judge(void *qdisc, int64_t backlog, pi2_draws *draws);
/* A packet was dropped: the sum begins anew. */
void pi2_pie_dropped(void *qdisc);

/* A packet leaves at `now` after `waited` ns, and `backlog` bytes stay behind. */
void pi2_pie_leave(void *qdisc, int64_t bytes, int64_t backlog, int64_t waited, int64_t now);

/* The rate estimator: bytes of this cycle (-1: none runs) and 1/256 byte per tick of 64 ns. */
void pi2_pie_rate(const void *qdisc, int64_t *count, uint64_t *rate);

#ifdef __cplusplus
}
#endif
