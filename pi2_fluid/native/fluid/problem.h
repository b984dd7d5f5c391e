/* What a class of a trajectory is made from, and how it may end. */
#pragma once

#include <stddef.h>

#include "laws/aqm.h"
#include "laws/sender.h"

/* The past is kept as far back as a delay can reach, up to this much memory. */
#define PI2_FLUID_MOST_BYTES ((size_t)1 << 30)
/* From here on it is kept only as far back as a delay can soon reach, whatever the buffer could hold. */
#define PI2_FLUID_LONG_PAST ((size_t)1 << 24)

/* Which signals a class obeys; deaf: none. */
enum { PI2_FLUID_CLASSIC, PI2_FLUID_SCALABLE, PI2_FLUID_DEAF };

typedef struct {
    const pi2_sender_law *law;
    const void *parameters;       /* what configures it; it must last as long as the run, as of the queue */
    int signal;                   /* one of the above */
    int thinned;                  /* not scalable; the queue drops what it signals before it enters */
    int slow_start;               /* begins in slow start */
    double count;                 /* flows */
    double base_rtt;              /* s */
    double start, stop;           /* s; INFINITY: to the end */
    double start_jitter;          /* s over which its flows start */
    double x[PI2_SENDER_STATES];  /* state before time 0, or when it starts */
} pi2_fluid_class;

enum {
    PI2_FLUID_DONE,       /* all rows are filled */
    PI2_FLUID_MORE,       /* the steps of this call are used up: call again */
    PI2_FLUID_STUCK,      /* too many steps in all, or none leads further */
    PI2_FLUID_LOST_IMAGE, /* the delayed image of an event was not found */
    PI2_FLUID_NOT_FINITE, /* a state is infinite or NaN */
    PI2_FLUID_TOO_OLD,    /* a delay reaches further back than the past that is kept */
    PI2_FLUID_NO_MEMORY,
};
