/* The updates of the two kernel queues called PI2, in their integers.
 *
 * 2016, the code of the PI2 paper (CoNEXT'16; github.com/olgabo/dualpi2, sch_pi2): the controller moves p_s, what
 * Scalable packets see, in 1/(2^32 - 1); delays are in ticks of 64 ns.
 * HPE (Hewlett Packard Enterprise, J. Tourrilhes, 2021 to 2025): the controller moves p' in 1/2^32; delays are in ns,
 * and the integral part counts the time since the last update. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint32_t alpha, beta; /* as pi2_2016_gain returns them */
    int64_t target;       /* ticks */
    int decay;            /* 1: p_s decays while the queue is idle */
    int quirks;           /* 1: p_s wraps around in its 32 bits: at steps of 1 or more, and in the decay above 1 % */
} pi2_2016_params;

typedef struct {
    uint32_t p;     /* p_s */
    int64_t before; /* ticks, delay at the last update */
} pi2_2016_vars;

/* The gain that the kernel keeps of `parts` 1/16 Hz: units of p_s per tick, cut off twice. */
uint32_t pi2_2016_gain(uint32_t parts);
/* One update at a delay of `delay` ticks; `backlog` tells whether packets wait. */
void pi2_2016_update(const pi2_2016_params *params, pi2_2016_vars *vars, int64_t delay, int backlog);

typedef struct {
    int64_t alpha, beta; /* as pi2_hpe_setup makes them: 2^-40 of the units of p' per ns^2, 2^-16 of them per ns */
    int64_t target;      /* ns */
    int64_t limit;       /* the largest p' */
} pi2_hpe_params;

typedef struct {
    int64_t p;         /* p' */
    int64_t before;    /* ns, delay at the last update */
    int64_t patience;  /* ns, the time from which on saturation counts as overload; 0: not saturated */
    int overload;      /* 1: packets are dropped, not marked */
} pi2_hpe_vars;

/* `alpha`, `beta`, `coupling` in 1/256: gains for a target and an update interval of 1 ms, and k. */
void pi2_hpe_setup(pi2_hpe_params *params, int64_t alpha, int64_t beta, int64_t coupling, int64_t target);
/* One update at the time `now`, `elapsed` ns after the last. */
void pi2_hpe_update(const pi2_hpe_params *params, pi2_hpe_vars *vars, int64_t delay, int64_t now, int64_t elapsed);

#ifdef __cplusplus
}
#endif
