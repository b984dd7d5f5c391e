/* Queue laws as the engines of the fluid call them: a table of functions, and what configures them. traced.h makes one
 * from the tapes of pi2_fluid/laws/aqms. Nothing here knows of an engine, and nothing clips but `saturate`.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_AQM_STATES = 8 };

/* What a PI controller of the queue delay makes of its variable u: u^2, u, or both u^2 (Classic) and min(k u, 1). */
enum { PI2_OTHER_ENCODER, PI2_SQUARE, PI2_LINEAR, PI2_COUPLED };

/* A PI controller of the queue delay, which engines have inline; its states are u and the delay at the last update. PI2
 * paper (CoNEXT'16), equation (4); in continuous time its bilinear image, equation (29). */
typedef struct {
    int encoder;                                        /* PI2_OTHER_ENCODER: the law is another */
    double alpha, beta, target, update_interval, limit; /* Hz, Hz, s, s, the largest u */
    double k;                                           /* coupling factor */
} pi2_plain_controller;

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
    pi2_plain_controller plain;
    int bands;
    unsigned still;        /* bit j: state j moves in updates only, and only they read it */
    unsigned queue_signals; /* 1 if signals depend on what is seen, not on the state alone */
    unsigned rate_signals;  /* 1 if they depend on what arrives or is lost, not on the queue alone */
    /* What its slopes and its signals compare, numbered together: how many times, and each as what (PI2_TAPE_LESS, ... of
     * operations.h; -1: it never changes). */
    int comparisons;
    const signed char *comparing;

    /* State of an idle queue; returns how many states there are. */
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
    /* Two bands: the rates (packets/s) at which C and L are served; one without backlog needs what arrives. */
    void (*serve)(const void *law, const int backlogged[2], const double arrivals[2], double capacity,
                  double served[2]);
} pi2_aqm_law;

/* Whether the law moves by its flow, within its bounds: where that is asked for, and without updates if it has any. */
int pi2_flows(const pi2_aqm_law *law, int continuous, double update_interval);

#ifdef __cplusplus
}
#endif
