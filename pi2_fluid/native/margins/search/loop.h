/* A loop as the search takes it, by whatever clock: its curve, and what is known of it beyond the points that are looked
 * at. linear_loop.h and ack_loop.h make such of flows and a queue. Pure C11.
 */
#pragma once

#include "margins/search/levels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As far as the phase of a sampled loop tells from which side it comes to pi/T, where it is real. */
#define PI2_NEARLY_ALL (1.0 - 1e-6)

/* Room, used again from loop to loop. All zero: empty. */
typedef struct {
    pi2_path path, spare;
    pi2_crossings gain, phase;
} pi2_searching;

typedef struct pi2_loop {
    pi2_curve response; /* L(jw), w > 0 */
    pi2_curve sketch;   /* the same within 1e-4 and at less cost, good enough to say where to look; or `response` */
    const void *of;     /* whose these are: */
    double (*bound)(const void *of, double w); /* an upper bound of |L(jv)| over v >= w, infinite while w is too low for it */
    pi2_outcome (*count)(const struct pi2_loop *loop, pi2_searching *room, int *count); /* see pi2_count_unstable */
    double longest, shortest; /* s: of its delays, which turn it; about 1/shortest it begins to fade */
    double end;               /* rad/s: pi/T of a sampled loop, about which |L| is even and the phase odd; else infinite */
    double reach;             /* rad/s: what is beyond is no part of it; infinite, as a rule */
    double slow;              /* rad/s: its slowest corner, open */
    int integrators;          /* poles at 0; -1: not followed here, -2: nor are modes counted */
    int settles;              /* whether no mode is known to grow with the loop open */
    size_t landmarks;         /* frequencies that a grid must not miss, rising */
    const double *landmark;
} pi2_loop;

#ifdef __cplusplus
}
#endif
