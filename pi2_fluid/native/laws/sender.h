/* Senders as the engines of the fluid call them: a table of functions, and what configures them. traced.h makes one from
 * the tapes of pi2_fluid/laws/senders. The state is an array whose first element is the window in segments. Nothing here
 * knows of an engine.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_SENDER_STATES = 8 };

/* A window W that grows by a segment per round trip R and falls by decrease W + per_mark with each signal, which engines
 * have inline: dW/dt = 1/R(t) - (decrease W(t) + per_mark) W(t-R)/R(t-R) p(t-R), sent as W/R. Reno is that, with
 * decrease alone (PI2 paper, CoNEXT'16, equation (15)), and Scalable, with per_mark (equation (22)). */
typedef struct {
    int known; /* 0: the law is another */
    double decrease, per_mark;
} pi2_plain_window;

typedef struct {
    const char *name;
    pi2_plain_window plain;
    int states;
    int steady;       /* 1: its state never moves, so that it sends at a constant rate */
    unsigned recalls; /* bit j: `rate` reads state j of one round trip ago; the window (j = 0) it may always read */
    /* What `rate` compares: how many times, and each as what (PI2_TAPE_LESS, ... of operations.h; -1: it never changes). */
    int comparisons;
    const signed char *comparing;

    /* dx/dt, with the state, the signal probability and the round-trip time (s) of one round trip ago. `sides` are the
     * answers of its comparisons, 1 or 0; NULL: by the numbers. */
    void (*rate)(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, const signed char *sides, double *dx);
    /* What each comparison looks at: of a < b, a - b. NULL if there are none. */
    void (*differences)(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                        double rtt_delayed, const signed char *sides, double *values);
    /* What acknowledgements per second, and the signals among them, change of every state per second; returns by how
     * much they cut the window apart from that (segments/s). NULL if the law has no form by their clock. */
    double (*acked)(const void *law, const double *x, double acks, double marks, double rtt, double *dx);
    /* Segments per second that a flow sends. */
    double (*sending_rate)(const void *law, const double *x, double rtt);
    /* The same of a law whose rate hears signals itself, not through its state alone; NULL of others. */
    double (*sending_rate_under)(const void *law, const double *x, double signal_delayed, double rtt);
    /* The state with which congestion avoidance begins, in place. */
    void (*leave_slow_start)(const void *law, double *x);
} pi2_sender_law;

/* Of laws that send their window in a round-trip time. */
double pi2_window_sending_rate(const void *law, const double *x, double rtt);

#ifdef __cplusplus
}
#endif
