/* From which frequency to which a loop's curve has to be followed: pi2_fluid/loop/ends.py. Pure C11. */
#pragma once

#include "margins/search/loop.h"

/* Where it ends. */
double pi2_top(const pi2_loop *loop);

/* A frequency below which L has its asymptotic phase and, with an integrator, a gain > 2, without, one on the side of 1 where
 * it stays. A phase that is a full turn away looks the same: on the way to below the slowest corner it must be left
 * nowhere. */
pi2_outcome pi2_low_end(const pi2_loop *loop, double *low);

/* A frequency above which |L| < level for certain, at most the end; NaN if there is none. */
double pi2_fading(const pi2_loop *loop, double level);
