/* A network linearised where it rests, as a matrix over frequency: pi2_fluid/loop/matrix/response.py says what is computed
 * here, and why. Pure C11. Tables are rows one after the other.
 */
#pragma once

#include <stddef.h>

#include "margins/search/controller.h"
#include "margins/search/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_MATRIX_STATES = 4, PI2_MATRIX_DELAYS = 1024 };

/* Of so many states: dx/dt = (a0 + a1 e) x + b p e + (e0 + e1 e) d, sent as c x + r d + feed p e. */
typedef struct {
    int states;
    double a0[PI2_MATRIX_STATES][PI2_MATRIX_STATES], a1[PI2_MATRIX_STATES][PI2_MATRIX_STATES];
    double b[PI2_MATRIX_STATES], e0[PI2_MATRIX_STATES], e1[PI2_MATRIX_STATES], c[PI2_MATRIX_STATES];
    double r, feed;
    int round_trip; /* which of the delays */
} pi2_matrix_class;

/* So much of one unknown is part of what arrives at a queue, some time later. */
typedef struct {
    int queue, unknown, delay;
    double value;
} pi2_passed;

/* From the unknown of its link to its variable, with coefficients in rising powers of s unit. */
typedef struct {
    int top, bottom; /* degrees */
    double numerator[PI2_CONTROLLER_COEFFICIENTS], denominator[PI2_CONTROLLER_COEFFICIENTS];
    double unit, factor, lag; /* s; what the unknown is multiplied by; s by which the variable comes later */
} pi2_matrix_controller;

typedef struct {
    int classes, queues, links, delays; /* links are those that signal */
    const double *delay;                /* s, each once */
    const pi2_matrix_class *cls;
    const int *ahead;             /* which delay lies before a queue: (classes, queues) */
    const double *weight;         /* of what a flow sends, in what arrives: (classes, queues) */
    const double *delayed;        /* by which a class is delayed, of an unknown: (classes, queues) */
    const double *slopes;         /* of p of a class over a link's variable: (classes, links) */
    const double *acted_on;       /* of an unknown, in what a controller acts on: (links, queues) */
    const int *waits;             /* whether the unknown is multiplied by s, of each queue */
    const int *queue;             /* of each link */
    int passings, leading;
    const pi2_passed *passing;    /* what passes from queue to queue, F */
    const pi2_passed *at_once;    /* what is added to I + F at high frequency */
    const pi2_matrix_controller *controller;
    int open; /* links whose loops are open come first in `order`, then those whose are closed */
    const int *order;
    double scale; /* rad/s, of pi2_matrix_characteristic */
} pi2_matrix_plant;

/* L(jw), from open links to open links, at n frequencies; 0 if a matrix is singular. */
int pi2_matrix_response(const pi2_matrix_plant *plant, size_t n, const double *w, number *values);

/* From the variables of all links to minus what their controllers act on. */
int pi2_matrix_plant_at(const pi2_matrix_plant *plant, size_t n, const double *w, number *values);

/* `matrix_characteristic` with all loops closed, as a curve of margins/search; with all open. */
int pi2_matrix_characteristic(const void *plant, size_t n, const double *w, double *values);
int pi2_matrix_open_characteristic(const void *plant, size_t n, const double *w, double *values);

/* How many factors these have. */
int pi2_matrix_degree(const pi2_matrix_plant *plant, int closed);

#ifdef __cplusplus
}
#endif
