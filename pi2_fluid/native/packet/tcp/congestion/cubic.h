/* The variables of CUBIC, for those who watch it. Times are in ms (ticks of a clock of 1000 Hz) unless said. */
#pragma once

#include <stdint.h>

#include "parameters.h"

#define PI2_CUBIC_FIELDS(F) \
    F(old)      /* 1: counts acknowledgements, as before Linux 4.0; 0: counts segments */ \
    F(c)        /* coefficient of the cubic, segments/s^3 */ \
    F(decrease) /* fraction of the window removed per signal, (0, 1] */ \
    F(hystart)  /* 1: slow start ends early on growing delay */ \
    F(friendly) /* 1: never slower than the estimate of a Reno flow */

typedef struct {
    PI2_CUBIC_FIELDS(PI2_FIELD)
} pi2_cubic_parameters;

typedef struct {
    /* What the parameters say; a timeout leaves it alone. */
    uint64_t cube_factor; /* cube of K per segment to climb, (1/1024 s)^3 */
    uint32_t c;           /* coefficient of the cubic, 1/1024 segments/s^3 */
    uint32_t kept;        /* fraction of the window kept at a signal, 1/1024 */
    uint32_t friendly;    /* windows acknowledged per segment of the Reno-friendly estimate, 1/8; 0: none */
    uint32_t longest;     /* distance from K at which the cubic stops, 1/1024 s */

    /* The epoch: since the last signal. */
    uint32_t cnt;                      /* segments (old: acknowledgements) acknowledged per segment of growth */
    uint32_t last_max;                 /* window at the last signal, segments; 0 before the first */
    uint32_t last_cwnd, last_time;     /* window (segments) and time of the last computation */
    uint32_t origin;                   /* window on the plateau, segments */
    uint32_t k;                        /* time from the beginning of the epoch to the plateau, 1/1024 s */
    uint32_t min_rtt;                  /* smallest round-trip time since the last timeout, us; 0 before the first */
    uint32_t epoch_start;              /* time of the first acknowledgement after the signal */
    uint32_t acked;                    /* what was counted towards the friendly estimate */
    uint32_t friendly_cwnd;            /* window that a Reno flow would have, segments */

    /* HyStart: one round of slow start. */
    uint32_t round_end;                /* first segment of the next round */
    uint32_t round_start, last_ack;    /* us: when it began; the last acknowledgement of the train */
    uint32_t round_rtt;                /* smallest round-trip time in it, us */

    uint16_t ack_ratio;                /* smoothed segments per acknowledgement, 1/16; old only */
    uint8_t in_epoch, in_round, found; /* begun; begun; the end of slow start was found */
    uint8_t samples;                   /* round-trip samples in this round, up to 8 */
} pi2_cubic;
