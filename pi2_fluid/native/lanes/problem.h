/* What a batch is made from, and what it results in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PI2_LANES_CLASSES = 32, PI2_LANES_EDGES = 8, PI2_LANES_STATES = 4, PI2_LANES_REGISTERS = 512 };

enum pi2_lanes_law { PI2_LANES_RENO, PI2_LANES_SCALABLE, PI2_LANES_CBR, PI2_LANES_TAPED };

/* A line of operations (pi2_fluid/laws/tape.py) whose parameters differ from run to run. Rows hold a code and three
 * registers: of inputs, parameters, constants and, one for each row, results. */
typedef struct {
    int inputs, parameters, constants, rows, outputs;
    const double *parameter; /* rows of one number for each run */
    const double *constant;
    const int32_t *row, *output;
    size_t kept;             /* where its numbers lie in the work memory; pi2_lanes_prepare says so */
} pi2_lanes_tape;
/* What packets see of the controller's variable u: u, u^2, or u^2 (Classic) and min(k u, 1) (Scalable). */
enum pi2_lanes_encoder { PI2_LANES_LINEAR, PI2_LANES_SQUARE, PI2_LANES_COUPLED, PI2_LANES_TAPED_QUEUE };
/* Factor on alpha and beta: 1, a table of u, or sqrt(2 u). */
enum pi2_lanes_tuning { PI2_LANES_PLAIN, PI2_LANES_TABLE, PI2_LANES_ROOT };

/* What a class is in all runs. */
typedef struct {
    int law;
    int group;    /* classes of one group have the same base RTT in every run */
    int scalable; /* which signal it obeys */
    int slow_start;
    int thinned;  /* constant bit rate of which the queue drops what it signals as Classic */
    /* A law as tapes: how many states it has, of which the window is the first; dx/dt from (x, x delayed, the signal
     * delayed, rtt, rtt delayed); the state with which congestion avoidance begins; and bit j for each state j that
     * dx/dt reads as it was. */
    int states;
    unsigned reads;
    pi2_lanes_tape rate, leave;
} pi2_lanes_class;

/* A queue as tapes. Its inputs are the state, and what it sees: delay (s), backlog, arrivals, capacity, overflow; of
 * `update` also the time since the last one, of `flow` the slope of the delay. What it has not has no results. */
typedef struct {
    int states;
    int flows, drifts; /* how it moves between two updates: at most one of them */
    pi2_lanes_tape update; /* with its clips */
    pi2_lanes_tape flow, drift, saturate, controller, signals;
    pi2_lanes_tape thin; /* what the variable u drops of thinned traffic */
} pi2_lanes_queue;

/* What differs from run to run: rows of one number for each run, by name, and how many rows there are in a problem `p`.
 *
 *   h (s), alpha, beta (Hz), target, update_interval (s), limit (largest u), k, buffer (packets)
 *   base_rtt   s, of each group
 *   gain       of each class: decrease, segments per mark, or packets/s per flow
 *   window     of each class, at the start (segments)
 *   state      of each class with more states these, at the start
 *   ramp       of each class, the steps over which its flows start (0: at once)
 *   law        of a queue as tapes its states, at the start
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
    ROWS(state, p->more_states) \
    ROWS(ramp, p->classes) \
    ROWS(law, p->queue.states) \
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
    int more_states; /* of all classes together, apart from their windows */
    size_t kept;     /* rows of lanes that tapes need; pi2_lanes_prepare says so */
    pi2_lanes_class class_[PI2_LANES_CLASSES];
    int continuous; /* the controller moves between ticks instead of at ticks */
    int encoder, tuning, edges;
    int follows; /* signals change between two nodes */
    pi2_lanes_queue queue;
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
