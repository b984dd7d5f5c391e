/* What a trajectory over several nodes is made from, and what it is reported in. */
#pragma once

#include "fluid/problem.h"

/* A link with its queue. */
typedef struct {
    double capacity; /* packets/s */
    double buffer;   /* packets */
    const pi2_aqm_law *aqm;
    const void *parameters; /* what configures it; it must last as long as the run */
    double update_interval; /* s; INFINITY: the queue never ticks */
    int continuous;         /* the controller moves by its flow instead */
    double queues[2];       /* packets of each band, before time 0 */
    double state[PI2_AQM_STATES];
    size_t push_count;
    const double *pushes; /* before each update: added to the controller's variable, the first state */
} pi2_routes_node;

typedef struct {
    pi2_fluid_class flows;
    int length;        /* of its route, */
    const int *nodes;  /* which are these, each at most once */
    const double *hops; /* s from the source, or the node before, to each */
} pi2_routes_class;

typedef struct {
    double at;       /* s */
    int node;        /* whose capacity changes, */
    double capacity; /* to this (packets/s); NaN: it does not */
} pi2_routes_change;

typedef struct {
    double duration; /* s */
    int began;       /* 1: before time 0 all was as given here, with signals; 0: empty queues, none */
    int sum;         /* signals of several nodes: 0: drawn one by one, 1 - prod(1 - p); 1: added */
    int node_count, class_count, change_count;
    const pi2_routes_node *nodes;
    const pi2_routes_class *classes;
    const pi2_routes_change *changes;
    const double *counts;   /* of each change, for each class: flows, NaN: as they are */
    double step, tolerance; /* s; 0: all steps of that length, else as long as the tolerance allows */
    long long most_steps;
} pi2_routes_problem;

/* Where the rows of a call go, one element per row and queue (q), node by node, row and node (l), row and class (c), or
 * row and visit (v): a class at a node of its route, class by class. */
typedef struct {
    double *queue, *queue_delay;                         /* q: packets, s */
    double *controller, *capacity;                       /* l: of the law, packets/s */
    double *window;                                      /* c: segments of a flow */
    double *p, *leaving;                                 /* v: probability of a signal, packets/s that leave */
} pi2_routes_rows;
