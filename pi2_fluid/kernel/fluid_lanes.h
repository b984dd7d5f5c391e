/* Trajectories of the fluid model, many runs of one scenario side by side. Pure C11.
 *
 * The method of pi2_fluid/fluid/lanes/stepping.py, operation by operation: equal steps, whose nodes all ticks and
 * changes fall on, and order 2. Laws: Reno and CReno, scalable, constant bit rate; PI, PIE, PI2, coupled.
 * The results of one run depend on neither the other runs nor the instruction set, to the last bit.
 */
#ifndef PI2_FLUID_LANES_H
#define PI2_FLUID_LANES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* `numbers` and `nodes` are rows of one number for each run, in this order:
 *
 *   numbers  h (s), alpha, beta (Hz), target (s), update interval (s), largest u, k, buffer (packets),
 *            base RTT (s) of each group; of each class its gain (decrease, segments per mark, or packets/s per
 *            flow), then of each its window at the start (segments), then of each the steps over which its flows
 *            start (0: at once); capacity (packets/s) before the first event and after each; and for each of these
 *            the flows of each class.
 *   nodes    steps per update; first and last node of the statistics, the run ends at the last; of each class the
 *            node at which it starts, then of each that at which it stops; of each event its node, not falling;
 *            of each sample its node, not falling, not beyond the last.
 */
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
    const double *numbers;
    const int32_t *nodes;
} pi2_lanes_problem;

size_t pi2_lanes_number_rows(const pi2_lanes_problem *problem);
size_t pi2_lanes_node_rows(const pi2_lanes_problem *problem);

/* Sums and extremes over the steps from first to last. Of what has two ends in a step both are added, of squares
 * the ends and their product. */
enum pi2_lanes_statistic {
    PI2_LANES_DELAY, PI2_LANES_DELAY_SQUARE, PI2_LANES_DELAY_MIN, PI2_LANES_DELAY_MAX,
    PI2_LANES_CONTROLLER, PI2_LANES_CONTROLLER_SQUARE, PI2_LANES_CONTROLLER_MIN, PI2_LANES_CONTROLLER_MAX,
    PI2_LANES_SERVED, PI2_LANES_LOST, /* packets */
    PI2_LANES_DEEPEST,                /* longest queue delay (s) of the whole run */
    PI2_LANES_STATISTICS
};
/* The same for each class, over the steps in which it sends. */
enum pi2_lanes_class_statistic {
    PI2_LANES_SENT, PI2_LANES_WINDOW, PI2_LANES_SIGNAL, PI2_LANES_WINDOW_MIN,
    PI2_LANES_CLASS_STATISTICS
};
/* What is sampled; then of each class the window, and of each the signal. */
enum pi2_lanes_trace { PI2_LANES_TRACE_QUEUE, PI2_LANES_TRACE_DELAY, PI2_LANES_TRACE_CONTROLLER, PI2_LANES_TRACES };

typedef struct {
    double *statistics; /* rows of one number for each run: STATISTICS, then CLASS_STATISTICS of each class */
    double *traces;     /* for each sample as many rows: TRACES, then 2 classes */
} pi2_lanes_result;

/* Doubles of memory that pi2_lanes needs to keep `depth` nodes, a power of two. */
size_t pi2_lanes_work(const pi2_lanes_problem *problem, size_t depth);

/* Computes all runs. `simd` is an index of pi2_simd_name (0: the fastest), `work` is aligned to 64 bytes.
 * Where (base RTT + DEEPEST) / h + 4 exceeds depth, the past was too short and the results are void. */
void pi2_lanes(int simd, const pi2_lanes_problem *problem, size_t depth, double *work, pi2_lanes_result result);

#ifdef __cplusplus
}
#endif

#endif
