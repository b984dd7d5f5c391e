/* The loops whose margins are computed; see margins.h. */
#pragma once

/* |L| is proved to fall with v up to 0.7072 and 1/2, so that the gain crossover is unique; room for rounding. */
#define PI2_MU_RENO (0.7072 * (1.0 + 1e-9))
#define PI2_MU_SCALABLE (0.5 * (1.0 + 1e-9))
/* m, a, c and rtt may lie anywhere from PI2_LEAST to PI2_MOST; mu is 0 or at least PI2_LEAST. */
#define PI2_LEAST 1e-100
#define PI2_MOST 1e100
