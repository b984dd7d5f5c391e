/* The common case, laid out for speed: one node with one queue under a PI controller whose signals follow from u, and Reno,
 * CReno or scalable classes in congestion avoidance, beside traffic of constant rate. The same equations as in slopes.c.
 *
 * What takes the time is the chain from one stage of a step to the next. So sums are arranged to add the latest term
 * last, and whatever is constant is prepared when the mode changes. With `n` and `groups` constant 1 at a call all
 * loops vanish and the state of a step stays in registers. It halves the time: 2.1 to 2.25 times as fast as slopes.c
 * at the default tolerance, with one class and with three (the scenarios of bench/fluid.py).
 */
#pragma once

#include "fluid/routes/run.h"

#if defined(__GNUC__) || defined(__clang__)
#define LEAN static inline __attribute__((always_inline))
#else
#define LEAN static inline
#endif

/* A stage of a step: what follows from q and the windows at t. */
typedef struct {
    double tau, net, growth, slope; /* s, packets/s, packets/s, 1/s: of the delay, the queue twice, the controller */
} lean_stage;

LEAN double lean_encode(const routes_lean *o, double u, int scalable)
{
    return fluid_encode(o->encoder, o->k, u, scalable);
}

/* Fills in round-trip times and their reciprocals, and returns how the queue and the controller move. */
LEAN lean_stage lean_look(const routes_lean *o, const int n, const int groups, double q, const double *w, double *rtt,
                          double *inverse, double *share)
{
    lean_stage v;
    v.tau = q * o->inverse_capacity;
    v.net = o->others;
    for (int g = 0; g < groups; g++) {
        rtt[g] = o->group[g].base_rtt + v.tau;
        inverse[g] = 1.0 / rtt[g];
    }
    for (int j = 0; j < n; j++) {
        share[j] = o->count[j] * inverse[groups == 1 ? 0 : o->of[j]];
        v.net += share[j] * w[j];
    }
    v.growth = v.net;
    if (SELDOM(o->bound != FREE) && (o->bound == EMPTY || v.net > 0.0))
        v.growth = 0.0;
    v.slope = o->continuous ? o->integral * (v.tau - o->target) + o->proportional * v.growth : 0.0;
    return v;
}

/* One round trip before: cubics and time (s) of the segment in which a group reads then. */
typedef struct {
    const double *c;
    double s;
} lean_past;

LEAN lean_past lean_go_back(const pi2_routes *run, const routes_lean_group *group, double t, double rtt)
{
    fluid_reader *reader = &group->reader->reader;
    const double d = t - rtt;
    lean_past then;
    if (SELDOM(!(d >= reader->from && d < reader->to)))
        t = reader_find(reader, &run->past, d) + rtt;
    then.c = reader->cubics;
    then.s = (t - reader->from) - rtt;
    return then;
}

/* The signals that a flow of each class hears of per second at t, W/R p of then: with R = (base_rtt C + q)/C, the
 * quotient of (gain W p) and `back`, where gain is C for those who were signalled then and 0 for others. */
/* What packets saw when a group heard of u: on the side of then. */
LEAN double lean_heard(const routes_lean *o, const routes_lean_group *group, double u, int scalable)
{
    return fluid_encode_on(group->within, o->encoder, o->k, u, scalable);
}

LEAN double lean_back(const routes_lean_group *group, lean_past then, const int m)
{
    return group->base_packets + past_value(then.c, m, 0, then.s);
}

LEAN double lean_u(const routes_lean *o, lean_past then, const int m)
{
    return o->continuous ? past_value(then.c, m, 1, then.s) : then.c[1];
}

LEAN void lean_signals(const pi2_routes *run, const routes_lean *o, const int n, const int groups, const int m, double t,
                       const double *rtt, double *signals)
{
    for (int g = 0; g < groups; g++) {
        const routes_lean_group *group = o->group + g;
        const lean_past then = lean_go_back(run, group, t, rtt[g]);
        const double u = lean_u(o, then, m), inverse = 1.0 / lean_back(group, then, m);
        const double classic = lean_heard(o, group, u, 0) * inverse, scalable = lean_heard(o, group, u, 1) * inverse;
        for (int j = n == 1 ? 0 : group->from; j < (n == 1 ? 1 : group->end); j++)
            signals[j] = past_value(then.c, m, o->at[j], then.s) * (o->gain[j] * (o->scalable[j] ? scalable : classic));
    }
}

/* After every change of who sends and of what holds: whether it serves, and if so, what is constant until then. */
void routes_lean_choose(pi2_routes *run);
/* What is constant until somebody reads another stretch. */
void routes_lean_look_back(pi2_routes *run);
/* All slopes of a point, in the way that serves now. */
void routes_all_slopes(pi2_routes *run, routes_point *at);
/* A step of length h to `end`, with all slopes there and its error. */
void routes_lean_try(pi2_routes *run, double h, double end);
/* What images of breakpoints do at the end of a step, and an update of the controller, with their marks. Returns 1 if that
 * was all; 0, without doing anything, if more is to happen; -1 if a bound or an answer does not hold any more. */
int routes_lean_arrive(pi2_routes *run, int images);
