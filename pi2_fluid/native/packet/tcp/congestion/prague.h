/* The variables of Prague, for those who watch it. */
#pragma once

#include <stdint.h>

#include "parameters.h"

#define PI2_PRAGUE_FIELDS(F) \
    F(gain)        /* weight of the last round in alpha, (0, 1] */ \
    F(target_rtt)  /* s that shorter round-trip times count as */ \
    F(first_alpha) /* alpha before anything was marked, [0, 1] */ \
    F(rounds)      /* round trips after slow start until they do */

typedef struct {
    PI2_PRAGUE_FIELDS(PI2_FIELD)
} pi2_prague_parameters;

typedef struct {
    double window;              /* segments, with their fraction; cwnd follows, by one per acknowledgement */
    double alpha;               /* smoothed marked fraction, [0, 1] */
    double added;               /* segments times the window that each unmarked one of this acknowledgement adds */
    int64_t updated, reduced;   /* ns: when alpha and the window last were */
    uint32_t round_end;         /* last segment before the next round of observation */
    uint32_t high;              /* next segment at the last reduction, or at the mark that called for one */
    uint32_t delivered, marked; /* segments in this round */
    uint32_t unmarked;          /* segments of this acknowledgement */
    uint32_t rounds;            /* that ended after slow start */
    uint32_t cwnd;              /* as this algorithm left it */
    uint8_t met_mark, reducing; /* was there ever one; within the window after `high` was set */
} pi2_prague;
