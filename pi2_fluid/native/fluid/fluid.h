/* One trajectory of the fluid model: the compiled twin of pi2_fluid/engines/fluid/integration.py. Pure C11.
 *
 * With q the queue, C the capacity, R_i = base_rtt_i + tau the round-trip time of class i and d_i = t - R_i(t),
 *   dx_i/dt = rate(x_i(t), x_i(d_i), p_i(d_i), R_i(t), R_i(d_i)),
 *   dq/dt = sum of count_i sending_rate(x_i, R_i) - C,   0 <= q <= buffer,
 * by a Runge-Kutta method of order 4 whose steps end wherever the equations are not smooth: at ticks, changes, clips,
 * and at the delayed images of all these. The same decisions as the twin, so the same mesh.
 */
#ifndef PI2_FLUID_H
#define PI2_FLUID_H

#include <stddef.h>

#include "laws/aqm.h"
#include "laws/sender.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The past is kept as far back as a delay can reach, up to this much memory. */
#define PI2_FLUID_MOST_BYTES ((size_t)1 << 30)
/* From here on it is kept only as far back as a delay can soon reach, whatever the buffer could hold. */
#define PI2_FLUID_LONG_PAST ((size_t)1 << 24)

/* Which signals a class obeys; deaf: none. */
enum { PI2_FLUID_CLASSIC, PI2_FLUID_SCALABLE, PI2_FLUID_DEAF };

typedef struct {
    const pi2_sender_law *law;
    double parameters[PI2_SENDER_PARAMETERS];
    int signal;                   /* one of the above */
    int thinned;                  /* not scalable; the queue drops what it signals before it enters */
    int slow_start;               /* begins in slow start */
    double count;                 /* flows */
    double base_rtt;              /* s */
    double start, stop;           /* s; INFINITY: to the end */
    double start_jitter;          /* s over which its flows start */
    double x[PI2_SENDER_STATES];  /* state before time 0, or when it starts */
} pi2_fluid_class;

typedef struct {
    double at;       /* s */
    double capacity; /* packets/s, NaN: as it is */
} pi2_fluid_change;

typedef struct {
    double duration; /* s */
    double capacity; /* packets/s */
    double buffer;   /* packets */
    const pi2_aqm_law *aqm;
    double parameters[PI2_AQM_PARAMETERS];
    double update_interval;       /* s; INFINITY: the queue never ticks */
    int continuous;               /* the controller moves by its flow instead */
    int began;                    /* 1: before time 0 it was as given here, with signals; 0: an empty queue, none */
    double queues[2];             /* packets before time 0 */
    double state[PI2_AQM_STATES]; /* of the controller before time 0 */
    int class_count, change_count;
    const pi2_fluid_class *classes;
    const pi2_fluid_change *changes;
    const double *counts;         /* of each change, for each class: flows, NaN: as they are */
    size_t push_count;
    const double *pushes;         /* before each update: added to the controller's variable, the first state */
    double step, tolerance;       /* s; 0: all steps of that length, else as long as the tolerance allows */
    long long most_steps;
} pi2_fluid_problem;

/* Where the rows of a call go, one element per row and queue (q), row and class (c), or row. */
typedef struct {
    double *queue, *queue_delay;   /* q: packets, s */
    double *controller, *capacity; /* the controller's variable; packets/s */
    double *p, *window, *leaving;  /* c: probability of a signal, segments of a flow, packets/s that leave */
} pi2_fluid_rows;

enum {
    PI2_FLUID_DONE,       /* all rows are filled */
    PI2_FLUID_MORE,       /* the steps of this call are used up: call again */
    PI2_FLUID_STUCK,      /* too many steps in all, or none leads further */
    PI2_FLUID_LOST_IMAGE, /* the delayed image of an event was not found */
    PI2_FLUID_NOT_FINITE, /* a state is infinite or NaN */
    PI2_FLUID_TOO_OLD,    /* a delay reaches further back than the past that is kept */
    PI2_FLUID_NO_MEMORY,
};

typedef struct pi2_fluid pi2_fluid;

/* Copies all it needs; NULL if there is no memory. */
pi2_fluid *pi2_fluid_create(const pi2_fluid_problem *problem);
void pi2_fluid_destroy(pi2_fluid *run);

/* Fills rows *place .. n-1 for the rising times samples[0 .. n-1] (s) and moves *place on, taking at most `most_steps`
 * steps. Call it again after PI2_FLUID_MORE; after any error the run is over. */
int pi2_fluid_advance(pi2_fluid *run, const double *samples, size_t n, size_t *place, pi2_fluid_rows rows,
                      long long most_steps);

/* How far it is (s), and after how many steps. */
double pi2_fluid_time(const pi2_fluid *run);
long long pi2_fluid_steps(const pi2_fluid *run);

#ifdef __cplusplus
}
#endif

#endif
