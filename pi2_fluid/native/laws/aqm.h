/* Queue laws in C: the real-valued twins of pi2_fluid/laws/aqms, one law per file. Pure C11.
 *
 * A law is a table of functions; its parameters are a struct of doubles, declared beside the law. Nothing here knows
 * of an engine, and nothing clips but `saturate`.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include "parameters.h"

/* Enough for every law of the table in laws.c, and states for those of others. */
enum { PI2_AQM_PARAMETERS = 16, PI2_AQM_STATES = 8, PI2_AQM_SWITCHES = 12 };

/* What a queue sees when its controller updates. */
typedef struct {
    double queue_delay[2]; /* s; Classic and L4S where there are two bands */
    double queue;          /* packets, of both bands */
    double arrival_rate;   /* packets/s */
    double capacity;       /* packets/s */
    double overflow;       /* packets/s lost because the buffer is full */
} pi2_seen;

/* Probability that a packet is signalled, per kind of sender. */
typedef struct {
    double classic, scalable;
} pi2_signal;

typedef struct {
    const char *name;
    int parameters;           /* doubles in the struct that `law` points to */
    const char *const *names; /* of its fields */
    int bands;
    unsigned still;        /* bit j: state j moves in updates only, and only they read it */
    unsigned queue_signals; /* 1 if signals depend on what is seen, not on the state alone */
    /* What its slopes and its signals compare, numbered together: how many times, and each as what (PI2_TAPE_LESS, ... of
     * operations.h; -1: it never changes). */
    int comparisons;
    const signed char *comparing;

    /* State of an idle queue; returns how many states there are. */
    int (*sound)(const void *law); /* whether the parameters can be these; NULL: any numbers can */
    int (*initial)(const void *law, double *state);
    /* One update, `dt` seconds after the last. */
    void (*update)(const void *law, const double *state, const pi2_seen *seen, double dt, double *after);
    /* d(state)/dt in continuous time, affine in d(queue delay)/dt; NULL if the law has no such form. There is one where
     * a law without updates clips its state. `sides` are the answers of its comparisons, 1 or 0; NULL: by the numbers. */
    void (*flow)(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope);
    /* d(state)/dt between two updates; NULL: held. */
    void (*drift)(const void *law, const double *state, const pi2_seen *seen, const signed char *sides, double *slope);
    /* Clips the state as the queue does after an update. */
    void (*saturate)(const void *law, double *state);
    /* The controller's variable. */
    double (*controller)(const void *law, const double *state);
    /* What packets see at the value `u` of that variable; NULL if it does not decide. */
    pi2_signal (*encode)(const void *law, double u);
    /* What packets that arrive now see; `seen` may be NULL unless queue_signals. */
    pi2_signal (*signals)(const void *law, const double *state, const pi2_seen *seen, const signed char *sides);
    /* What each comparison looks at: of a < b, a - b. NULL if there are none. */
    void (*differences)(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                        const signed char *sides, double *values);
    /* Quantities whose change of sign marks a kink or a jump; returns how many. NULL: none. */
    int (*switch_values)(const void *law, const double *state, const pi2_seen *seen, double *values);
    /* Two bands: the rates (packets/s) at which C and L are served; one without backlog needs what arrives. */
    void (*serve)(const void *law, const int backlogged[2], const double arrivals[2], double capacity,
                  double served[2]);
} pi2_aqm_law;

#define PI2_AQM(name) extern const pi2_aqm_law pi2_aqm_##name;
#include "laws.def"

/* The law of that name, NULL if there is none. */
const pi2_aqm_law *pi2_find_aqm(const char *name);

/* Whether the law moves by its flow, within its bounds: where that is asked for, and without updates if it has any. */
int pi2_flows(const pi2_aqm_law *law, int continuous, double update_interval);

/* For laws of one state without updates; */
void pi2_not_updated(const void *law, const double *state, const pi2_seen *seen, double dt, double *after);
/* those that never clip, those whose first state is a price, and stays above 0; */
void pi2_unclipped(const void *law, double *state);
void pi2_price_saturate(const void *law, double *state);
/* those whose variable is their first state, those that signal it as it is, and prices with the base phi: 1 - phi^-u. */
double pi2_first_state(const void *law, const double *state);
pi2_signal pi2_same_for_all(const void *law, double u);
pi2_signal pi2_price_encode(const void *law, double phi, double u);

#ifdef __cplusplus
}
#endif
