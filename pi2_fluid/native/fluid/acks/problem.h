/* What a trajectory by the clock of acknowledgements is made from. */
#pragma once

#include "fluid/routes/problem.h"

/* A class at one link of its way, and what that was like before time 0. */
typedef struct {
    int node, band; /* the link, and which of its queues it waits in */
    int signal;     /* PI2_FLUID_CLASSIC, PI2_FLUID_SCALABLE or PI2_FLUID_DEAF: which signal it sees there */
    int thinned;    /* the link drops what it signals before that enters its queue */
    double hop;     /* s from the source, or from the link before */
    double rate;    /* packets/s that came in the time before 0; then, with */
    double took;    /* s from the source to the queue, packets */
    double waited;  /* as long (s), */
    double met, p;  /* and had been signalled with this probability by links before, and were with this one here */
} pi2_acks_visit;

typedef struct {
    const pi2_sender_law *law;   /* one that says what acknowledgements do, unless it is steady */
    const void *parameters;      /* what configures it; it must last as long as the run, as of the queues */
    int steady;                  /* sends at a constant rate, whatever is acknowledged */
    int slow_start;              /* begins in slow start */
    int spreads;                 /* a cut is obeyed over `round_trip`, by proportional rate reduction, not at once */
    int copied;                  /* class with whose window of then it begins, -1: its own */
    double count;                /* flows, which do not change */
    double base_rtt, back;       /* s: of the whole path, and of its part behind the last link */
    double round_trip;           /* s; as a reduction reckons with it */
    double start, stop;          /* s; INFINITY: to the end */
    double start_jitter;         /* s over which flows without window start */
    double x[PI2_SENDER_STATES]; /* when it starts */
    double before, cutting;      /* in the time before 0: packets/s of all, segments/s that a flow was cut by */
    int length;                  /* of its way, at least 1 */
    const pi2_acks_visit *visits;
} pi2_acks_class;

typedef struct {
    double capacity;              /* packets/s */
    double buffer;                /* packets */
    const pi2_aqm_law *aqm;       /* one that holds what it signals until the next update */
    const void *parameters;
    double update_interval;       /* s */
    double state[PI2_AQM_STATES]; /* of the controller before time 0 */
    int at_dequeue;               /* packets are signalled as they leave, not as they come */
    int head;                     /* the controller measures how long what leaves has waited, not the backlog */
    double waited;                /* s that (Classic) packets waited in the time before 0 */
    size_t push_count;
    const double *pushes;         /* before each update: added to the controller's variable, the first state */
} pi2_acks_node;

typedef struct {
    double duration; /* s */
    double past;     /* s: how far the time before 0 reaches back */
    int sum;         /* signals of several links: 0: drawn one by one, 1 - prod(1 - p); 1: added */
    int node_count, class_count, change_count;
    const pi2_acks_node *nodes;
    const pi2_acks_class *classes;
    const pi2_routes_change *changes; /* in order, each of a capacity */
    const int *order;                 /* in which a step asks classes, by number, and links, by class_count + number: so
                                         that what a delay shorter than a step leads to has been asked before */
    double step;                      /* s, the longest; less than any way back that order does not allow for */
    long long most_steps;
    double most_bytes;                /* that the past may take */
} pi2_acks_problem;
