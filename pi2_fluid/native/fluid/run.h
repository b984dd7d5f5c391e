/* Inside the fluid kernel: one trajectory in the making. The names are those of the Python twin. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "fluid/inline_laws.h"
#include "fluid/past.h"
#include "fluid/problem.h"

#define SAME 1e-12 /* s: instants closer than this are one */

/* A condition that is hardly ever true: worth a branch, where a minimum or maximum would be one more link in the chain
 * of operations that takes the time. */
#if defined(__GNUC__) || defined(__clang__)
#define SELDOM(condition) __builtin_expect(!!(condition), 0)
#else
#define SELDOM(condition) (condition)
#endif

enum { EMPTY = -1, FREE = 0, FULL = 1 };

/* How the slopes are computed: as in lean.h; for any classes under a law whose signals follow from its own
 * state; for anything. Each is a special case of the next, and agrees with it to rounding. */
enum { LEAN_KIND, PLAIN, GENERAL };

/* What is added to |y| to make the error of a component relative: of a queue (s of the capacity), of the controller,
 * of a sender (segments). */
#define QUEUE_WEIGHT 1e-3
#define CONTROLLER_WEIGHT 1e-3
#define SENDER_WEIGHT 0.1

typedef struct {
    double count; /* flows, once all have started */
    unsigned char started, active; /* it does not send while its count is 0 */
    unsigned char ramping, slow;
} fluid_share;

/* How many of its flows have started that start one after the other from `start` on. */
static inline double share_count(const fluid_share *share, double t, double start, double start_jitter)
{
    double part;
    if (!share->active)
        return 0.0;
    if (!share->ramping)
        return share->count;
    part = (t - start) / start_jitter;
    return share->count * (part < 0.0 ? 0.0 : part > 1.0 ? 1.0 : part);
}

/* The probability with which packets of a class are signalled. */
static inline double signal_of(int signal, int thinned, pi2_signal signals)
{
    return thinned || signal == PI2_FLUID_CLASSIC ? signals.classic
           : signal == PI2_FLUID_SCALABLE         ? signals.scalable
                                                  : 0.0;
}

/* The discrete state that readers of the past need: constant between two events. */
typedef struct {
    double capacity; /* packets/s */
    signed char bound[2];
    unsigned char signalling; /* 0 before time 0, when nobody has been signalled */
    unsigned char sided;      /* whether the queue's comparisons hold their answers, which follow the shares */
    fluid_share of[]; /* each class */
} fluid_mode;

typedef struct {
    const pi2_sender_law *law;
    const void *parameters;
    int plain;                      /* its slope is inline */
    int signal, thinned, listens;   /* as in fluid.h; whether its state moves by what is past */
    int band, group;
    int x, states;                  /* where its state lies */
    int sides;                      /* where the answers of its comparisons lie */
    int expected;                   /* where its expected signals lie during slow start, -1: never in it */
    double start, start_jitter;     /* s */
    double most;                    /* flows, at the most */
} fluid_class;

/* Classes with one delay read the same past. */
typedef struct {
    double base_rtt; /* s */
    int band;
    int number;         /* among all groups */
    fluid_reader reader;
    int image, passed;  /* side on which it leaves its stretch (0: none); order of the breakpoint passed (-1: none) */
    /* where it reads now: */
    double s;           /* s since the segment began */
    double rtt_then;    /* s */
    pi2_signal signals;
    double inverse_rtt; /* 1/s, now */
} fluid_group;

/* What follows from the state of one instant, without looking at the past. */
typedef struct {
    double tau[2];              /* s */
    double net[2], served[2];   /* packets/s: growth of each queue, were it free; what leaves it */
    double arrivals;            /* packets/s */
    double *rtt;                /* s, of each group */
    double *rates;              /* packets/s, of each class */
} fluid_view;

typedef struct {
    double t;
    double *y, *f; /* state and slopes */
    fluid_view view;
} fluid_point;

enum { CAPACITY, COUNT, START, END_RAMP, STOP };

typedef struct {
    double at;    /* s */
    int kind;     /* one of the above */
    int index;    /* of a class; of CAPACITY: of a node, where there are several */
    double value; /* of capacity or count; of START: whether it ramps */
} fluid_happening;

typedef struct {
    fluid_happening *items; /* in order; room for 1 + classes per change and 3 per class */
    int count, next;
} fluid_agenda;

enum {
    QUEUE_EMPTIES,
    QUEUE_GROWS,
    BUFFER_FILLS,
    BUFFER_DRAINS,
    CLIP,
    RELEASE,
    SIDE,      /* a comparison's answer changes */
    SIGNALLED, /* slow start has heard of one signal per flow */
    FLOOR,     /* a window reaches 0, where it is held, */
    LIFT,      /* and leaves it */
};

typedef struct {
    int kind, index;    /* which of the above; of which band, state or class */
    int number;         /* of a comparison, of that class or, beyond them, of the queue */
    double bound, side; /* of a clip; the sign of what `value` looks at before the event */
} fluid_event;

/* See lean.h. Classes are numbered here among those who listen now, group by group. */
typedef struct {
    fluid_reader *reader;
    double base_rtt, base_packets; /* s; times the capacity of then, packets */
    int from, end; /* its classes */
    int number;    /* among all groups */
    int within;    /* whether k u was a probability then */
} lean_group;

typedef struct {
    double *from, *k1, *k2, *k3, *k4;              /* q, u, windows */
    double *w, *share, *signals, *rtt, *inverse;
} lean_buffers;

typedef struct {
    int n, groups, encoder, bound, continuous;
    double capacity, inverse_capacity;             /* packets/s, s/packet */
    double others;                                 /* constant arrivals - capacity, packets/s */
    double integral, proportional, target, k;      /* of the controller's flow (0: held); s; coupling factor */
    double *count, *decrease, *per_mark;           /* flows; of the law, one of both is 0 */
    double *gain;                                  /* capacity of then if it was signalled, else 0 */
    int *at, *of, *class_, *scalable;              /* component, group, number among all classes, signal */
    lean_group *group;
    lean_buffers buffers;
} fluid_lean;

typedef struct pi2_fluid {
    /* the problem */
    int bands, class_count, group_count;
    fluid_class *classes;
    fluid_group *groups, **hearing; /* all, and those with active classes that hear signals */
    int hearing_count;
    const pi2_aqm_law *aqm;
    const void *law; /* what configures it */
    double buffer;
    /* How far back readers may look (s): at most `lookback`; the longest path and the least capacity of a queue
     * (packets/s) of the whole schedule say how far it can be soon. */
    double lookback, longest_path, least_capacity;
    int flooded;       /* traffic without windows may exceed that capacity */
    int continuous;
    int comparing, rates_compare; /* whether what laws compare must be watched; of senders */
    int thins; /* whether some traffic is thinned, so that arrivals depend on the controller */
    double step, tolerance, per_tolerance, close; /* per_tolerance: 1/(24 step_allowance(tolerance)) */
    long long most_steps;

    /* the schedule */
    fluid_agenda agenda;
    double tick; /* number of the next one */
    double interval, end, next;
    double *pushes;    /* before each tick, from the first on */
    size_t push_count;

    /* The state is [queues | moving states of the controller | states of the senders | arrivals | expected signals];
     * arrivals only if classes share a queue. All but the last part is kept of the past. */
    int size, stored, controller, moving, arrived;
    int moves[PI2_AQM_STATES];     /* which states of the law are integrated, */
    double state[PI2_AQM_STATES];  /* the others are here */
    int states;
    double *weights;               /* of each component but the queues; < 0: its error does not count */

    /* the trajectory */
    fluid_past past;
    fluid_mode *mode;              /* the present one, in past.modes */
    double held[PI2_AQM_STATES];   /* per moving state: the direction in which a clip stops it, else 0 */
    signed char *sides;            /* answers of the senders' comparisons */
    int by_numbers;                /* 1: those of the present are not held just now */
    double *distances;             /* room for those of one law */
    int kind, encoder, slow;
    unsigned char *floored;        /* whether a class's window is held at 0, where its law would carry it below */
    fluid_point ends[2], *now, *trial, scratch;
    fluid_lean lean;
    double *k2, *k3, *k4, *middle;
    double *then;                  /* state of one instant of the past */
    fluid_view view_then;
    fluid_event *events;
    size_t departures[2];
    double proposal, error;
    int complete;                  /* whether the trial step knows the slopes at its end */
    int heard;                     /* whether groups have last read what is heard there */
    int smooth;                    /* whether the step before ended at nothing */
    int overlaps;                  /* whether the step in the making may be read */
    long long taken;
    int stalled, status;
    void *memory;
} pi2_fluid;

/* The answers that the queue's comparisons hold in a mode (1 or 0, by their numbers); NULL: what is compared decides, as
 * while an event is made. */
static inline const signed char *fluid_sides(const pi2_fluid *run, const fluid_mode *mode)
{
    return mode->sided && !(run->by_numbers && mode == run->mode) ? (const signed char *)(mode->of + run->class_count)
                                                                  : NULL;
}

/* The same of a sender's. */
static inline const signed char *fluid_rate_sides(const pi2_fluid *run, const fluid_class *c)
{
    return run->by_numbers || !c->law->comparisons ? NULL : run->sides + c->sides;
}

/* Whether numbers have a value. A side may lead out of where a law has one (0/0 just where it would change): then what is
 * compared decides. */
static inline int fluid_have_values(const double *numbers, int n)
{
    double sum = 0.0;
    for (int j = 0; j < n; j++)
        sum += numbers[j];
    return fabs(sum) < INFINITY;
}

/* What packets see by the queue's law. */
static inline pi2_signal fluid_shown(const pi2_fluid *run, const double *state, const pi2_seen *seen,
                                     const signed char *sides)
{
    const pi2_signal signals = run->aqm->signals(run->law, state, seen, sides);
    return sides && !(fabs(signals.classic + signals.scalable) < INFINITY)
               ? run->aqm->signals(run->law, state, seen, NULL)
               : signals;
}
