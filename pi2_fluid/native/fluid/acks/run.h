/* Inside the clock of acknowledgements: one trajectory in the making. The names are those of the Python twin. */
#pragma once

#include <math.h>

#include "fluid/acks/past.h"
#include "fluid/acks/problem.h"

#define SAME 1e-12  /* s: instants closer than this are one */
#define TINY 1e-9   /* packets, and seconds: what is no backlog, and no step worth splitting */
#define CORNER 1e-3 /* packets: how far off a corner of what is sent may lie inside a step */

/* A window after a step. */
typedef struct {
    double x[PI2_SENDER_STATES];     /* of the law, the window first */
    double grown;                    /* segments by which it has grown, less the cuts that are obeyed at once */
    double cut, cut_integral;        /* segments cut that are obeyed over a round trip */
    double expected;                 /* signals per flow since it began in slow start */
    double speed[PI2_SENDER_STATES]; /* of x per second in the last step, which leads to the middle of the next */
} acks_moved;

/* What a class has done at the end of a step, before the queue has served it. */
typedef struct {
    int sends;                    /* whether it sent by its window in it: else the window is held */
    double packets, acked, heard; /* sent, acknowledged, signals heard until then */
    double silence;               /* packets under way beyond its window, so that it waits */
} acks_sent;

/* A step that is tried, or what was given in the last one. */
typedef struct {
    double t, dt, per_second; /* its end and its length (s); 1/dt */
} acks_time;

/* The laws that have what acknowledgements do inline. */
enum { OTHER_LAW, RENO, SCALABLE };

typedef struct {
    const pi2_sender_law *law;
    double parameters[PI2_SENDER_PARAMETERS];
    int kind, states;
    int steady, signal, band, thinned, slow, spreads, copied, goes_on;
    double number, per_flow, path, round_trip, per_round_trip, start, stop, ramp;
    double rate, kept;    /* of a steady one: packets/s of a flow; the part of it that enters the queue */
    size_t column;        /* its first in a row of the past */
    size_t path_ago, round_trip_ago; /* which of the lags are its own */
    double acked, heard, silence;
    acks_moved moved[2], *now, *then; /* the window now, and after the step that is tried */
    acks_sent sent;                   /* of that step */
} acks_stream;

/* An instant that lies a fixed time ago; many classes look at the same. */
typedef struct {
    double time; /* s */
    size_t cursor;
    acks_place place; /* of the step that is tried */
} acks_lag;

/* One queue, first in, first out. */
typedef struct {
    size_t column, entry; /* its first in a row of the past; cursor: where what leaves now had come */
    double delay, lost;   /* s; packets that found no room */
    double arrived, served, no_room; /* of the step that is tried */
} acks_line;

typedef struct pi2_acks {
    /* the problem */
    int bands, class_count, change_count, at_dequeue, head;
    acks_stream *streams;
    acks_lag *lags;
    size_t lag_count;
    const pi2_aqm_law *aqm;
    double law[PI2_AQM_PARAMETERS], buffer, interval, end, step;
    long long most_steps;
    pi2_fluid_change *changes;
    double *others; /* known instants besides ticks (s), rising */
    int other_count;
    double *pushes;
    size_t push_count;

    /* the trajectory */
    acks_past past;
    acks_line lines[2];
    double t, capacity, state[PI2_AQM_STATES];
    double *p;
    double next;      /* the next known instant (s) */
    int ticks;        /* whether the controller ticks then */
    int change, other;
    double tick;      /* number of the next one */
    double longest;   /* s: how far back classes look */
    size_t forgotten; /* cursor: that long ago */
    acks_time trial;  /* the step that is tried */
    double split;     /* the part of it that it should end after */
    double dt;        /* s: of the steps that are left until then, */
    double planned;   /* so many */

    /* the node before the newest: what is held from there on; whether it was otherwise just before the newest */
    double *p_before, controller_before, capacity_before;
    int fresh;
    long long taken;
    int status;
} pi2_acks;

static inline double acks_queue(const pi2_acks *run)
{
    double queue = 0.0;
    for (int k = 0; k < run->bands; k++)
        queue += acks_newest(&run->past)[run->lines[k].column + QUEUE];
    return queue;
}
