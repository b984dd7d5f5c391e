/* A queue's controller, linearised where it rests: a ratio of polynomials from the queue delay to its variable. */
#pragma once

#include "desk/rest.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_CONTROLLER_STATES = 7 };

typedef struct {
    int top, bottom; /* degrees */
    double numerator[PI2_CONTROLLER_STATES + 1], denominator[PI2_CONTROLLER_STATES + 1];
    /* In rising powers of z^-1 of a law that updates, of s of one that acts on every packet. */
} pi2_linear_controller;

/* Tapes whose parameters are the law's numbers. */
typedef struct {
    /* Of its update, or of its motion between updates, over the state, the queue delays (of two bands two) and what
     * arrives; they are told what leaves as well. */
    const pi2_tape *moves;
    const pi2_tape *picks; /* of the controller's variable over the state */
    const pi2_tape *shows; /* that variable itself */
    int ticks;             /* whether `moves` is an update */
} pi2_controller_slopes;

/* 0 if a slope is not finite, the law reacts to what arrives or to nothing, or rests on a jump. */
int pi2_linearize_queue(const pi2_desk_queue *queue, const pi2_controller_slopes *slopes, const pi2_queue_at_rest *at,
                        pi2_linear_controller *controller);

/* The polynomials of one that updates in rising powers of 1 - z^-1, and of x for z^-1 = (1 - x)/(1 + x), times (1 + x)^degree
 * of both; returns that degree. */
int pi2_in_steps(const pi2_linear_controller *controller, double *top, double *bottom);
int pi2_in_continuous_time(const pi2_linear_controller *controller, double *top, double *bottom);

#ifdef __cplusplus
}
#endif
