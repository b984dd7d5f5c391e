/* What configures DualPI2. */
#pragma once

#include "packet/controllers/pi_family.h"

#define PI2_DUALPI2_OWN(F) \
    F(step)           /* s: delay of L above which all its packets are marked; with a ramp, its centre */ \
    F(ramp)           /* s: width of a linear ramp centred on step, 0: none */ \
    F(c_protection)   /* fraction of the link that C gets at least while it has packets */ \
    F(classic_drives) /* 1: the delay of C drives the controller (RFC 9332); 0: the larger of both (Linux) */
#define PI2_DUALPI2_FIELDS(F) PI2_COUPLED_FIELDS(F) PI2_DUALPI2_OWN(F)

typedef struct {
    pi2_coupled coupled;
    PI2_DUALPI2_OWN(PI2_FIELD)
} pi2_dualpi2;
