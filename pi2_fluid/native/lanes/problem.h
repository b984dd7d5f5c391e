/* What a batch is made from, and what it results in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PI2_LANES_CLASSES = 32, PI2_LANES_EDGES = 8 };

enum pi2_lanes_law { PI2_LANES_RENO, PI2_LANES_SCALABLE, PI2_LANES_CBR };
/* What packets see of the controller's variable u: u, u^2, or u^2 (Classic) and min(k u, 1) (Scalable). */
enum pi2_lanes_encoder { PI2_LANES_LINEAR, PI2_LANES_SQUARE, PI2_LANES_COUPLED };
/* Factor on alpha and beta: 1, a table of u, or sqrt(2 u). */
enum pi2_lanes_tuning { PI2_LANES_PLAIN, PI2_LANES_TABLE, PI2_LANES_ROOT };

/* What a class is in all runs. */
typedef struct {
    int law;
    int group;    /* classes of one group have the same base RTT in every run */
    int scalable; /* which signal it obeys */
    int slow_start;
    int thinned;  /* constant bit rate of which the queue drops what it signals as Classic */
} pi2_lanes_class;

/* What differs from run to run: rows of one number for each run, by name, and how many rows there are in a problem `p`.
 *
 *   h (s), alpha, beta (Hz), target, update_interval (s), limit (largest u), k, buffer (packets)
 *   base_rtt   s, of each group
 *   gain       of each class: decrease, segments per mark, or packets/s per flow
 *   window     of each class, at the start (segments)
 *   ramp       of each class, the steps over which its flows start (0: at once)
 *   capacity   packets/s before the first event and after each
 *   count      for each of these the flows of each class
 */
#define PI2_LANES_NUMBERS(ROWS) \
    ROWS(h, 1) \
    ROWS(alpha, 1) \
    ROWS(beta, 1) \
    ROWS(target, 1) \
    ROWS(update_interval, 1) \
    ROWS(limit, 1) \
    ROWS(k, 1) \
    ROWS(buffer, 1) \
    ROWS(base_rtt, p->groups) \
    ROWS(gain, p->classes) \
    ROWS(window, p->classes) \
    ROWS(ramp, p->classes) \
    ROWS(capacity, p->events + 1) \
    ROWS(count, (p->events + 1) * p->classes)

/* Likewise whole numbers.
 *
 *   ticks        steps per update
 *   first, last  nodes of the statistics; the run ends at the last
 *   start, stop  nodes at which each class starts and stops
 *   event        node of each event, not falling
 *   sample       node of each sample, not falling, not beyond the last
 */
#define PI2_LANES_NODES(ROWS) \
    ROWS(ticks, 1) \
    ROWS(first, 1) \
    ROWS(last, 1) \
    ROWS(start, p->classes) \
    ROWS(stop, p->classes) \
    ROWS(event, p->events) \
    ROWS(sample, p->samples)

typedef struct {
    size_t runs;
    int classes, groups, events, samples;
    pi2_lanes_class class_[PI2_LANES_CLASSES];
    int continuous; /* the controller moves between ticks instead of at ticks */
    int encoder, tuning, edges;
    double edge[PI2_LANES_EDGES], factor[PI2_LANES_EDGES]; /* falling edges, and the factor below each */
    /* PIE: the most that an update adds from u = 0.1 on, what one adds at delays above 0.25 s, and the factor on u
     * of an idle queue; INFINITY, 0 and 1 for none of it */
    double cap, boost, decay;
#define PI2_LANES_ROWS(name, rows) const double *name;
    PI2_LANES_NUMBERS(PI2_LANES_ROWS)
#undef PI2_LANES_ROWS
#define PI2_LANES_ROWS(name, rows) const int32_t *name;
    PI2_LANES_NODES(PI2_LANES_ROWS)
#undef PI2_LANES_ROWS
} pi2_lanes_problem;

/* Sums and extremes over the steps from first to last. Of what has two ends in a step both are added, of squares
 * the ends and their product. */
#define PI2_LANES_STATISTIC(ROW) \
    ROW(DELAY, delay) \
    ROW(DELAY_SQUARE, delay_square) \
    ROW(DELAY_MIN, delay_min) \
    ROW(DELAY_MAX, delay_max) \
    ROW(CONTROLLER, controller) \
    ROW(CONTROLLER_SQUARE, controller_square) \
    ROW(CONTROLLER_MIN, controller_min) \
    ROW(CONTROLLER_MAX, controller_max) \
    ROW(SERVED, served)   /* packets */ \
    ROW(LOST, lost)       /* packets */ \
    ROW(DEEPEST, deepest) /* longest queue delay (s) of the whole run */
/* The same for each class, over the steps in which it sends. */
#define PI2_LANES_CLASS_STATISTIC(ROW) \
    ROW(SENT, sent) \
    ROW(WINDOW, window) \
    ROW(SIGNAL, signal) \
    ROW(WINDOW_MIN, window_min)
/* What is sampled; then of each class the window, and of each the signal. */
#define PI2_LANES_TRACE(ROW) \
    ROW(TRACE_QUEUE, queue) \
    ROW(TRACE_DELAY, delay) \
    ROW(TRACE_CONTROLLER, controller)

#define PI2_LANES_PLACE(NAME, name) PI2_LANES_##NAME,
enum pi2_lanes_statistic { PI2_LANES_STATISTIC(PI2_LANES_PLACE) PI2_LANES_STATISTICS };
enum pi2_lanes_class_statistic { PI2_LANES_CLASS_STATISTIC(PI2_LANES_PLACE) PI2_LANES_CLASS_STATISTICS };
enum pi2_lanes_trace { PI2_LANES_TRACE(PI2_LANES_PLACE) PI2_LANES_TRACES };
#undef PI2_LANES_PLACE

typedef struct {
    double *statistics; /* rows of one number for each run: STATISTICS, then CLASS_STATISTICS of each class */
    double *traces;     /* for each sample as many rows: TRACES, then 2 classes */
} pi2_lanes_result;
