/* A loop by the clock of acknowledgements, linearised, and its controller, as the search takes it. What is done here, and
 * why, say pi2_fluid/loop/acks/plant.py, sampled.py and roots.py. Pure C11.
 */
#pragma once

#include <stddef.h>

#include "margins/aliases/ack_class.h"
#include "margins/search/controller.h"
#include "margins/search/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t classes;
    const pi2_ack_class *cls;
    const pi2_ack_size *size;
    pi2_ack_queue queue;
    double unclocked; /* part of the packets in the queue that come at constant rates */
    pi2_controller controller;
    double slow; /* as in pi2_loop */
    int settles;
    size_t pairs;          /* of aliases, if it is sampled */
    const double *weights; /* what pi2_ack_weigh makes of so many */
} pi2_ack_parts;

/* Pairs of aliases that sums need, and that they need to within some 1e-4. */
enum { PI2_ACK_PAIRS = 48, PI2_ACK_FEW_PAIRS = 16 };

/* The weights of so many aliases, in pairs about pi/T: 2 pairs of the sum, which fall smoothly from 1 to 0, then 2 pairs of
 * the mean. */
void pi2_ack_weigh(size_t pairs, double *weights);

/* Made of parts, which it copies. It ends below the echoes of packets that are served first, and of several round-trip
 * times in one queue. */
typedef struct pi2_ack_loop pi2_ack_loop;

/* NULL if memory lacks. */
pi2_ack_loop *pi2_ack_loop_make(const pi2_ack_parts *parts);
void pi2_ack_loop_free(pi2_ack_loop *loop);

/* As the search takes it; `loop` must last as long. */
pi2_loop pi2_loop_of_acks(const pi2_ack_loop *loop);

#ifdef __cplusplus
}
#endif
