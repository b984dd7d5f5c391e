/* What follows from the state of one instant. */
#pragma once

#include "fluid/controller.h"
#include "fluid/routes/dual.h"
#include "fluid/routes/run.h"

/* The probability with which packets of a class are signalled. */
static inline double routes_signal_of(const routes_class *c, pi2_signal signals)
{
    return signal_of(c->signal, c->thinned, signals);
}

/* The signals of several nodes together. */
static inline double routes_combine(const pi2_routes *run, double together, double p)
{
    const double sum = together + p;
    return !run->sum ? 1.0 - (1.0 - together) * (1.0 - p) : sum < 1.0 ? sum : 1.0;
}

static inline double routes_count(const pi2_routes *run, double t, const routes_mode *mode, int i)
{
    return share_count(routes_shares(run, mode) + i, t, run->classes[i].start, run->classes[i].start_jitter);
}

/* What packets see by a node's law. A side may lead out of where a law has a value: then what is compared decides. */
static inline pi2_signal routes_shown(const routes_node *node, const double *state, const pi2_seen *seen,
                                      const signed char *sides)
{
    const pi2_signal signals = node->aqm->signals(node->law, state, seen, sides);
    return sides && !(fabs(signals.classic + signals.scalable) < INFINITY)
               ? node->aqm->signals(node->law, state, seen, NULL)
               : signals;
}

/* Delays and round-trip times, by the rates in at->y where these matter. */
void routes_delays(const pi2_routes *run, routes_point *at);
/* What the classes send that hear (if any do) signals with the probability `heard`: of all classes, or of those whose
 * packets are at a node at once. */
void routes_send(const pi2_routes *run, routes_point *at, const double *heard, int all);
/* The same of a flow with state x. */
static inline double routes_rate(const routes_class *c, const double *x, double p, double rtt)
{
    return c->windowed  ? x[0] / rtt
           : c->answers ? c->law->sending_rate_under(c->parameters, x, p, rtt)
                        : c->law->sending_rate(c->parameters, x, rtt);
}
static inline void routes_state(const routes_node *node, const double *y, double *state)
{
    controller_state(node->states, node->state, node->moving, node->moves, y + node->controller, state);
}

void routes_seen(const pi2_routes *run, int l, const double *y, const routes_mode *mode, pi2_seen *seen);
pi2_signal routes_signals(const pi2_routes *run, int l, const double *y, const routes_mode *mode);
/* What is left of thinned traffic. */
double routes_kept(const routes_node *node, const double *y);
/* dq/dt of a node's only queue within the bound that holds. */
static inline double routes_queue_slope(const routes_link *link, double net)
{
    return link->bound[0] == EMPTY || (link->bound[0] == FULL && net > 0.0) ? 0.0 : net;
}
/* d(moving states)/dt before clipping; `net` is of the node's queues. */
void routes_controller_slope(const pi2_routes *run, int l, const double *y, const double *net, double *slope);
