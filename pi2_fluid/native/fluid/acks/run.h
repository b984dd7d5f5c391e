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

/* A class, which sends as it hears from the last link of its way. */
typedef struct {
    const pi2_sender_law *law;
    const void *parameters;
    int plain, states;
    int steady, slow, spreads, copied, goes_on, phase;
    double number, per_flow, path, round_trip, per_round_trip, start, stop, ramp;
    double rate;                     /* of a steady one: packets/s of a flow */
    size_t column, columns;          /* its first in a row of the past, and how many with those of its passages */
    size_t passed, signalled;        /* columns of what leaves the last link */
    size_t back_ago, round_trip_ago; /* which of the lags are its own */
    int first, length;               /* its passages */
    acks_window window[2];           /* now, and after the step that is tried: run->trial.now says which */
    /* While nothing of it is sent or under way, its numbers are not written into the past: what they are, since when. */
    int rests;
    double *resting, since;
} acks_source;

/* A class at one link: it comes, is signalled, waits and leaves. What finds no room counts as acknowledged with those
 * before and after it, and so goes on with them, but fills no queue.
 *
 * Columns that say the same are one: what comes without a hop is what the place before has let go, and a first link meets
 * no signals. While no packet has been lost all are really there, and nobody counts these apart. */
typedef struct {
    int owner, link, line, signal;
    int thinned, adds, at_dequeue;
    int direct; /* no time passes from the place before to here */
    int plain;  /* the first on its way, likewise, and not thinned */
    size_t ago; /* which lag is the hop, unless direct */
    size_t feed_passed, feed_real, feed_signalled; /* what leaves the place before */
    size_t fed, fed_real;                          /* what of it has come, of which a part is thinned */
    size_t came, real;                             /* what has come: all of it, and what is really there */
    size_t met, given;                             /* signals of what has come, before and after this link's own */
    size_t passed, out_real;                       /* what has left: all of it, and what is really there */
    size_t met_by_left, signalled;                 /* signals of what has left, before and after this link's own */
    double packets;                                /* that have come until the end of the step that is tried */
} acks_passage;

/* An instant that lies a fixed time ago; many look at the same. */
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
    int first, count;     /* in run->members, the numbers of its passages; */
    int active_count;     /* in run->active, from there on, those of them that do not rest */
    double arrived, served; /* of the step that is tried */
} acks_line;

/* A link with its queues. */
typedef struct {
    const pi2_aqm_law *aqm;
    const void *law; /* what configures it */
    int bands, head, first_line;
    int plain; /* so are all its passages */
    int ticks; /* whether it does at the next known instant */
    double capacity, buffer, interval, state[PI2_AQM_STATES];
    double tick; /* number of the next one */
    double *pushes;
    size_t push_count;
    double capacity_before, controller_before; /* as p_before */
} acks_link;

typedef struct pi2_acks {
    /* the problem */
    int class_count, passage_count, line_count, link_count, change_count;
    acks_source *sources;
    acks_passage *passages; /* class by class */
    acks_line *lines;       /* link by link */
    acks_link *links;
    acks_lag *lags;
    size_t lag_count;
    int *members, *active;   /* passages, queue by queue: all, and those that do not rest */
    int *order, *asked;      /* sources and links in their order; of these, those that do not rest, */
    int asked_count;         /* so many */
    double end, step;
    long long most_steps;
    double most_bytes;
    pi2_routes_change *changes;
    double *others; /* known instants besides ticks (s), rising */
    int other_count;
    double *kept; /* what is kept of classes that rest */

    /* the trajectory */
    acks_past past;
    double t, *p, *p_after; /* of each passage: the probability of a signal now, and after the step that is tried */
    double next;            /* the next known instant (s) */
    int change, other, slow_count, dual_count;
    int lossy;        /* a packet has found no room, so that all and those that are there are two counts */
    int loses;        /* the step that is tried was the first to lose one: it is to be tried once more */
    double longest;   /* s: how far back classes look */
    size_t forgotten; /* cursor: that long ago */
    acks_trial trial;
    double split;     /* the part of it that it should end after */
    double dt;        /* s: of the steps that are left until then, */
    double planned;   /* so many */

    /* the node before the newest: what is held from there on; whether it was otherwise just before the newest */
    double *p_before;
    int fresh;
    long long taken;
    int status;
} pi2_acks;

/* Packets that wait at a link. */
static inline double acks_queue(const pi2_acks *run, const acks_link *link, const double *row)
{
    double queue = 0.0;
    for (int k = 0; k < link->bands; k++)
        queue += row[run->lines[link->first_line + k].column + QUEUE];
    return queue;
}

/* Ends the step that is tried after a part of it, at the latest. */
static inline void acks_split_at(pi2_acks *run, double part)
{
    if (part < run->split)
        run->split = part;
}
