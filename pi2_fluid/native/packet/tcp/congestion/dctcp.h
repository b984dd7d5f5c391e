/* The variables of DCTCP, for those who watch it. */
#pragma once

#include <stdint.h>

#include "parameters.h"

#define PI2_DCTCP_FIELDS(F) \
    F(gain)  /* weight of the last window in alpha, (0, 1]; a power of two not below 1/1024 with integers */ \
    F(fixed) /* 1: the integers of Linux; 0: the real numbers of RFC 8257 */ \
    F(old)   /* 1: as Linux 3.18: alpha does not fall below its first 1/gain - 1 parts, and losses answer to it, too */

typedef struct {
    PI2_DCTCP_FIELDS(PI2_FIELD)
} pi2_dctcp_parameters;

typedef struct {
    double alpha;               /* smoothed marked fraction, [0, 1]; in units of 1/1024 with integers */
    uint32_t window_end;        /* first segment of the next window of observation */
    uint32_t delivered, marked; /* segments in this one */
    uint32_t shift;             /* gain = 2^-shift; integers only */
} pi2_dctcp;
