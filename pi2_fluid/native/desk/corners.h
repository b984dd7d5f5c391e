/* Where the response of a linearised loop bends: its poles and zeros as they are at low frequency, where delays are 1. */
#pragma once

#include <stddef.h>

#include "desk/linear_flows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double slow; /* the slowest corner but those at 0, and no delay is slower (rad/s) */
    int sharp;   /* how many turn the response within a narrow range of frequencies */
} pi2_corners;

/* Of classes and of a controller whose polynomials are in rising powers of s unit; 0 if they were not found. */
int pi2_find_corners(size_t classes, const pi2_linear_flows *linear, const pi2_linear_class *cls, int degree,
                     const double *top, const double *bottom, double unit, pi2_corners *corners);

#ifdef __cplusplus
}
#endif
