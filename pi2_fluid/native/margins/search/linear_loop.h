/* A loop by the rate clock, linearised, and its controller: what pi2_fluid/loop/response.py, sampled.py and
 * crossovers.py say of it, on the imaginary axis. Pure C11. Complex numbers are pairs of doubles.
 */
#pragma once

#include <stddef.h>

#include "margins/aliases/linear_sums.h"
#include "margins/search/controller.h"
#include "margins/search/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    pi2_controller controller;
    size_t classes;
    const pi2_linear_class *cls;
    int integrators, settles; /* as in pi2_loop */
    double slow;
    const pi2_linear_sums *sums;  /* if sampled */
    const pi2_linear_sums *rough; /* of fewer aliases, NULL: none; good enough to say where to look */
} pi2_linear_loop;

/* As the search takes it; what is given must last as long. */
pi2_loop pi2_loop_of_rates(const pi2_linear_loop *loop);

#ifdef __cplusplus
}
#endif
