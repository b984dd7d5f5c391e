/* What a replay does with a RED queue discipline, beyond what the table in qdisc.h gives. */
#pragma once

#include <stdint.h>

#include "packet/core/random.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_RED_PASS, PI2_RED_EARLY, PI2_RED_FORCED };

typedef struct {
    double average; /* bytes */
    double p;       /* the profile's own probability at the average */
    double max_p;
    int64_t count;  /* packets since the last signal; -1: below min, or above max */
} pi2_red_view;

/* What becomes of a packet that finds `backlog` bytes: moves the average and draws. */
int pi2_red_judge(void *qdisc, int64_t backlog, int64_t now, pi2_draws *draws);

/* The link has been idle since then (ns); without effect unless idle decay is on. */
void pi2_red_idle_since(void *qdisc, int64_t since);

/* Puts the average at `bytes`. */
void pi2_red_hold(void *qdisc, double bytes);

void pi2_red_look(const void *qdisc, pi2_red_view *view);

#ifdef __cplusplus
}
#endif
