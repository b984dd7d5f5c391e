/* Window laws in C: the real-valued twins of pi2_fluid/laws/senders, one law per file. Pure C11.
 *
 * A law is a table of functions; its parameters are a struct of doubles, declared beside the law. The state is an
 * array whose first element is the window in segments. Nothing here knows of an engine.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include "parameters.h"

/* Enough for every law of the table in laws.c, and states for those of others. */
enum { PI2_SENDER_PARAMETERS = 8, PI2_SENDER_STATES = 8 };

typedef struct {
    const char *name;
    int parameters;           /* doubles in the struct that `law` points to */
    const char *const *names; /* of its fields */
    int states;
    int switches;
    int steady;       /* 1: its state never moves, so that it sends at a constant rate */
    unsigned recalls; /* bit j: `rate` reads state j of one round trip ago; the window (j = 0) it may always read */
    /* What `rate` compares: how many times, and each as what (PI2_TAPE_LESS, ... of operations.h; -1: it never changes). */
    int comparisons;
    const signed char *comparing;

    /* State of a new flow with `window` segments. */
    void (*initial)(const void *law, double window, double *x);
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
    /* Quantities whose change of sign marks a kink of `rate`; NULL if there are none. */
    void (*switch_values)(const void *law, const double *x, double signal, double rtt, double *values);
} pi2_sender_law;

#define PI2_SENDER(name) extern const pi2_sender_law pi2_sender_##name;
#include "laws.def"

/* The law of that name, NULL if there is none. */
const pi2_sender_law *pi2_find_sender(const char *name);

/* For laws whose only state is a window. */
void pi2_window_initial(const void *law, double window, double *x);
double pi2_window_sending_rate(const void *law, const double *x, double rtt);
void pi2_window_stays(const void *law, double *x);

#ifdef __cplusplus
}
#endif
