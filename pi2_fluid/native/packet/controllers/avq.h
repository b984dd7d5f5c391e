/* AVQ: a packet is signalled where a virtual queue, served at Cv, would lose it; Cv moves so that a part `utilization`
 * of the link is used. Kunniyur, Srikant (SIGCOMM 2001; IEEE/ACM Transactions on Networking, 2004). */
#pragma once

#include "parameters.h"

#define PI2_AVQ_FIELDS(F) \
    F(utilization) /* part of the capacity that flows may have */ \
    F(alpha)       /* Hz: how fast Cv follows */ \
    F(start)       /* Cv/C in the beginning */ \
    F(buffer)      /* packets that the virtual queue holds */ \
    F(overflow)    /* 1: a fluid loses what exceeds Cv; 0: as an M/M/1/K queue does */

typedef struct {
    PI2_AVQ_FIELDS(PI2_FIELD)
} pi2_avq;

/* The probability at which a queue is signalled whose virtual capacity is this part of the link's. */
double pi2_avq_signalled(const pi2_avq *p, double part);
