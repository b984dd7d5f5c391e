/* From classes of flows and a queue at rest to the loop whose crossings native/margins/search looks for. */
#pragma once

#include <stddef.h>

#include "desk/controller.h"
#include "desk/linear_flows.h"
#include "margins/search/linear_loop.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a queue's law says of its loop: tapes whose parameters are its numbers. */
typedef struct {
    const pi2_tape *encode; /* of what Classic and Scalable packets see over its variable */
    pi2_controller_slopes controller;
    /* Of two bands: what L4S arrivals, Classic ones and packets per second leave Classic packets; that over the L4S
     * arrivals; and the Classic delay over what waits and over what is served, of both and packets per second. */
    const pi2_tape *serve, *serve_slope, *delay_slopes;
    double interval; /* s between updates; 0 if it acts on every packet */
} pi2_queue_slopes;

/* Room for a loop, used again from one to the next. All zero: empty. */
typedef struct {
    size_t room;
    pi2_linear_flows *linear;
    pi2_linear_class *cls;
    pi2_echo *echo;
    pi2_linear_sums *sums, *rough;
} pi2_desk_room;

void pi2_desk_room_free(pi2_desk_room *room);

typedef enum { PI2_LOOP_MADE, PI2_LOOP_ELSEWHERE, PI2_LOOP_NO_MEMORY } pi2_assembly;

/* `loop` refers to `room` and stays valid until that is used again. `exact`: laws' own dependence on the round-trip time
 * counts; `simd` is an index of pi2_simd_name. */
pi2_assembly pi2_assemble_loop(const pi2_desk_queue *queue, const pi2_queue_slopes *slopes, int classes,
                               const pi2_desk_flows *flows, const pi2_flow_slopes *flow_slopes,
                               const pi2_queue_at_rest *at, const pi2_flows_at_rest *rests, pi2_update update, int exact,
                               int simd, pi2_desk_room *room, pi2_linear_loop *loop);

#ifdef __cplusplus
}
#endif
