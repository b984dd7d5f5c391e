/* Inside the clock of acknowledgements: one trajectory in the making. The names are those of the Python twin. */
#pragma once

#include <math.h>

#include "fluid/acks/past.h"
#include "fluid/acks/problem.h"

#define SAME 1e-12  /* s: instants closer than this are one */
#define TINY 1e-9   /* packets, and seconds: what is no backlog, and no step worth splitting */
#define CORNER 1e-3 /* packets: how far off a corner of what is sent may lie inside a step */

/* A window after a step, and what its class has heard. */
typedef struct {
    double x[PI2_SENDER_STATES];     /* of the law, the window first */
    double speed[PI2_SENDER_STATES]; /* of x per second in the last step, which leads to the middle of the next */
    double grown;                    /* segments by which it has grown, less the cuts that are obeyed at once */
    double expected;                 /* signals per flow since it began in slow start */
    double acked, heard;             /* packets acknowledged, signals heard */
    double silence;                  /* packets under way beyond its window, so that it waits */
} acks_window;

/* What a class does until the next known instant. */
enum { PAUSES, STEADY, BUILDS_UP, RUNS };

typedef struct {
    const pi2_sender_law *law;
    const void *parameters;
    int plain, states;
    int steady, signal, band, thinned, slow, spreads, copied, goes_on, phase;
    double number, per_flow, path, round_trip, per_round_trip, start, stop, ramp;
    double rate, kept;               /* of a steady one: packets/s of a flow; the part of it that enters the queue */
    size_t column;                   /* its first in a row of the past */
    size_t path_ago, round_trip_ago; /* which of the lags are its own */
    acks_window window[2];           /* now, and after the step that is tried: run->trial.now says which */
    double packets;                  /* sent at the end of that step */
    /* While nothing of it is sent or waits, its numbers are not written into the past: what they are, since when. */
    int rests;
    double resting[PER_CLASS], since;
} acks_stream;

/* An instant that lies a fixed time ago; many classes look at the same. */
typedef struct {
    double time; /* s */
    size_t cursor;
    acks_place place; /* of the step that is tried */
} acks_lag;

/* A step that is tried. */
typedef struct {
    double t, dt, per_second; /* its end and its length (s); 1/dt */
    int now;                  /* which of two windows of each class is that at its beginning */
    const double *before;     /* rows of the past at its beginning, */
    double *row;              /* and at its end */
    const acks_lag *lags;
} acks_trial;

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
    int *active, active_count, slow_count; /* those of them that do not rest; how many are in slow start */
    acks_lag *lags;
    size_t lag_count;
    const pi2_aqm_law *aqm;
    const void *law; /* what configures it */
    double buffer, interval, end, step;
    long long most_steps;
    double most_bytes;
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
    acks_trial trial;
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
