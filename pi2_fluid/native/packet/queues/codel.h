/* What a replay reads of a CoDel queue discipline, beyond what the table in qdisc.h gives. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Its parameters. */
#define PI2_CODEL_FIELDS(F) \
    F(target)       /* s */ \
    F(interval)     /* s */ \
    F(ecn)          /* 1: marks packets that are ECN-capable instead of dropping them */ \
    F(fixed)        /* 1: the kernel's integers */ \
    F(ce_threshold) /* s, of waiting: what waits longer and can be marked is; infinite: nothing is */ \
    F(ect1_alone)   /* 1: of those packets only what is ECT(1) */

typedef struct {
    uint32_t count, count_before; /* signals of this dropping state, and where it began */
    int dropping;
    int64_t waited; /* ns of the last packet taken; whole units of 1.024 us in integers */
} pi2_codel_view;

void pi2_codel_look(const void *qdisc, pi2_codel_view *view);

/* 1/sqrt(count) in 1/2^16, one Newton step on from that of the count before. */
uint16_t pi2_codel_newton(uint16_t inverse, uint32_t count);

/* interval/sqrt(count) in the units of `interval`. */
int64_t pi2_codel_gap(int64_t interval, uint16_t inverse);

#ifdef __cplusplus
}
#endif
