/* Senders and queue by the clock of acknowledgements: from the controller's variable to the delay. Pure C11.
 *
 * The equations are those of pi2_fluid/loop/acks/plant.py, of classes whose window laws are ratios of polynomials; it says
 * what they mean. Complex numbers are pairs of doubles.
 */
#pragma once

#include <stddef.h>

#include "margins/aliases/ack_class.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0 if memory lacks. */
pi2_ack_plant *pi2_ack_plant_make(size_t classes, const pi2_ack_class *cls, const pi2_ack_queue *queue);
void pi2_ack_plant_free(pi2_ack_plant *plant);

/* G(s), from the controller's variable to minus the delay that it acts on, at n points. Returns 0 if memory lacks. */
int pi2_ack_plant_at(const pi2_ack_plant *plant, size_t n, const double *s, double *values);

/* `plant` is to last as long. 0 if memory lacks. */
pi2_ack_sums *pi2_ack_sums_make(const pi2_ack_plant *plant, double interval, size_t pairs, const double *whole,
                                const double *mean, int echoing);
void pi2_ack_sums_free(pi2_ack_sums *sums);

/* (1/T) times that sum, at n points. Returns 0 if memory lacks. */
int pi2_ack_sums_at(const pi2_ack_sums *sums, size_t n, const double *s, double *values);

#ifdef __cplusplus
}
#endif
