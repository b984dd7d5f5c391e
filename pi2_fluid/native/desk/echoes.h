/* The plant of a linearised loop at large s, delay by delay: what sums over aliases take of it. */
#pragma once

#include <stddef.h>

#include "desk/linear_flows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many delays there are of so many classes, at the most. */
size_t pi2_most_echoes(size_t classes);

/* G(s)/s in powers of 1/(s + 1/T) up to the fourth, G from the controller's variable to minus the queue delay; T the update
 * interval (s). `echo` has room for pi2_most_echoes; returns how many there are. */
size_t pi2_expand_flows(size_t classes, const pi2_linear_flows *linear, double interval, pi2_echo *echo);

#ifdef __cplusplus
}
#endif
