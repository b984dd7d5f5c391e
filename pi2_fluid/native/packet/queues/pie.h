/* What a replay sets and reads of a PIE queue discipline, beyond what the table in qdisc.h gives. */
#pragma once

#include <stdint.h>

#include "packet/controllers/pie.h"
#include "packet/core/random.h"
#include "packet/queues/pie_update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parameters: those of the law (its burst is -1 unless burst_by_update), and what packets need beside them. */
#define PI2_PIE_PACKET_OWN(F) \
    F(first_update)    /* s, when the timer first expires */ \
    F(arithmetic)      /* PI2_PIE_REAL, PI2_PIE_56_BITS, PI2_PIE_32_BITS */ \
    F(quirks)          /* 1: overflows as in the kernel */ \
    F(allowance)       /* s during which nothing is signalled, given anew when calm; 0: none */ \
    F(burst_by_update) /* 1: the law lets it run out at each update (RFC 8033); 0: time between departures does */ \
    F(strict_idle)     /* 1: no decay while packets wait (Linux) */ \
    F(half_target)     /* below half the target and 20 % nothing is signalled: 0 no, 1 latest delay, 2 last update's */ \
    F(derandomize)     /* 1: no signal until p has summed up to 0.85, one at 8.5 at the latest */ \
    F(rate_estimator)  /* 1: delay from the departure rate; 0: what the last packet has waited */ \
    F(rate_threshold)  /* bytes of a cycle of the estimator */ \
    F(rate_weight)     /* of its newest rate, in real numbers */ \
    F(ecn)             /* 1: marks packets that can be marked, while p is at most mark_limit */ \
    F(mark_limit) \
    F(at_dequeue)      /* 1: packets are judged as they leave, not as they arrive */ \
    F(bytemode)        /* 1: small packets are signalled less, in proportion to their bytes */
#define PI2_PIE_PACKET_FIELDS(F) PI2_PIE_FIELDS(F) PI2_PIE_PACKET_OWN(F)

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

/* Whether a packet of `bytes` that meets `backlog` bytes is to be dropped or marked. */
int pi2_pie_judge(void *qdisc, int64_t backlog, int64_t bytes, pi2_draws *draws);
/* A packet was dropped: the sum begins anew. */
void pi2_pie_dropped(void *qdisc);

/* A packet leaves at `now` after `waited` ns, and `backlog` bytes stay behind. */
void pi2_pie_leave(void *qdisc, int64_t bytes, int64_t backlog, int64_t waited, int64_t now);

/* The rate estimator: bytes of this cycle (-1: none runs) and 1/256 byte per tick of 64 ns. */
void pi2_pie_rate(const void *qdisc, int64_t *count, uint64_t *rate);

#ifdef __cplusplus
}
#endif
