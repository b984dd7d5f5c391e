/* What a trajectory by the clock of acknowledgements is made from. */
#pragma once

#include "fluid/problem.h"

typedef struct {
    const pi2_sender_law *law;    /* one that says what acknowledgements do, unless it is steady */
    const void *parameters;       /* what configures it; it must last as long as the run, as of the queue */
    int steady;                   /* sends at a constant rate, whatever is acknowledged */
    int signal;                   /* PI2_FLUID_CLASSIC, PI2_FLUID_SCALABLE or PI2_FLUID_DEAF */
    int band;                     /* the line it waits in */
    int thinned;                  /* steady; the queue drops what it signals before it enters */
    int slow_start;               /* begins in slow start */
    int spreads;                  /* a cut is obeyed over `round_trip`, by proportional rate reduction, not at once */
    int copied;                   /* class with whose window of then it begins, -1: its own */
    double count;                 /* flows, which do not change */
    double base_rtt, round_trip;  /* s; the second as a reduction reckons with it */
    double start, stop;           /* s; INFINITY: to the end */
    double start_jitter;          /* s over which flows without window start */
    double x[PI2_SENDER_STATES];  /* when it starts */
    double before, cutting;       /* in the time before 0: packets/s of all, segments/s that a flow was cut by */
} pi2_acks_class;

typedef struct {
    double duration; /* s */
    double capacity; /* packets/s */
    double buffer;   /* packets */
    const pi2_aqm_law *aqm;       /* one that holds what it signals until the next update */
    const void *parameters;
    double update_interval;       /* s */
    double state[PI2_AQM_STATES]; /* of the controller before time 0 */
    int at_dequeue;               /* packets are signalled as they leave, not as they come */
    int head;                     /* the controller measures how long what leaves has waited, not the backlog */
    double past, waited;          /* s: how far the time before 0 reaches back; how long Classic packets waited in it */
    int class_count, change_count;
    const pi2_acks_class *classes;
    const pi2_fluid_change *changes; /* in order, each of the capacity */
    size_t push_count;
    const double *pushes;         /* before each update: added to the controller's variable, the first state */
    double step;                  /* s, the longest; less than the shortest path of a class with a window */
    long long most_steps;
    double most_bytes;            /* that the past may take */
} pi2_acks_problem;
