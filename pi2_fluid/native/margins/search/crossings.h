/* What is asked of loops on their followed curves, by whatever clock: margins, unstable modes, |1 + L|. Pure C11. */
#pragma once

#include "margins/search/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

void pi2_searching_free(pi2_searching *room);

/* Every crossing of a loop that matters for its margins, and the curve that it was found on, into `room`; `quiet`, also all
 * that matter once the gain is raised. */
pi2_outcome pi2_find_crossings(const pi2_loop *loop, pi2_searching *room, int quiet);

/* How many modes of the closed loop grow, or PI2_ON_CONTOUR: it is on the boundary. What `room` has of the path is lost. */
pi2_outcome pi2_count_unstable(const pi2_loop *loop, pi2_searching *room, int *count);

typedef struct {
    double gm_db, pm_deg, w_gc, w_pc, delay; /* s */
    double lower_db, unstable;               /* NaN: not counted */
} pi2_loop_margins;

/* As pi2_fluid/loop/margins.py says; infinite where nothing is crossed. */
pi2_outcome pi2_find_margins(const pi2_loop *loop, pi2_searching *room, pi2_loop_margins *margins);

/* Gain margin (dB) and phase margin (degrees, not wrapped) at the crossings next to frequencies where nearly such a loop has
 * its own, `*w_pc` and `*w_gc`, which become those; infinite where they are, NaN where none is near. No others are looked
 * for. */
pi2_outcome pi2_find_near(const pi2_loop *loop, double *w_gc, double *w_pc, double *gm_db, double *pm_deg);

/* The smallest |1 + L|, at most 1. */
pi2_outcome pi2_find_nearest(const pi2_loop *loop, pi2_searching *room, double *distance);

#ifdef __cplusplus
}
#endif
