/* What is in every trajectory in the making: shares of classes, what is scheduled, kinds of events. */
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

/* Whether numbers have a value. A side may lead out of where a law has one (0/0 just where it would change): then what is
 * compared decides. */
static inline int fluid_have_values(const double *numbers, int n)
{
    double sum = 0.0;
    for (int j = 0; j < n; j++)
        sum += numbers[j];
    return fabs(sum) < INFINITY;
}
