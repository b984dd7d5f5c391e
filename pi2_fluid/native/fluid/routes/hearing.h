/* What a class hears of the past: the signals of the nodes on its route, and its own state of then. It is inline because it
 * is asked at each stage of each step.
 */
#pragma once

#include "fluid/routes/dual.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/run.h"

/* Goes to where a reader reads at t. */
static inline void routes_go_to(pi2_routes *run, routes_reader *r, double t)
{
    fluid_reader *reader = &r->reader;
    r->d = t;
    if (!(t >= reader->from && t < reader->to)) {
        t = reader_find(reader, &run->past, t);
        r->mode = past_mode(&run->past, reader->cursor);
    }
    r->s = t - reader->from;
    if (reader->cursor == run->past.length)
        routes_overlap(run, r);
}

/* Goes to where it looks back from `at`. */
static inline void routes_go_back(pi2_routes *run, routes_reader *r, const routes_point *at)
{
    double t = at->t - r->delay;
    for (int k = 0; k < r->queue_count; k++)
        t -= at->tau[r->queues[k]];
    routes_go_to(run, r, t);
}

/* How fast the instant moves that a reader looks back at. */
static inline double routes_reading_speed(const routes_reader *r, const routes_point *at)
{
    double rate = 1.0;
    for (int k = 0; k < r->queue_count; k++)
        rate -= at->d_tau[r->queues[k]];
    return rate;
}

/* The probability of a signal that a class hears from a node, where its reader looks or `later` (s) if all goes on by the
 * slopes there: a segment may be shorter than that, and beyond its ends a cubic says nothing. */
double routes_signal_then(const pi2_routes *run, const routes_class *c, const routes_visit *visit, double later);

/* The same of a node whose signals follow from its controller in a known way. */
static inline double routes_encoded(const pi2_routes *run, const routes_visit *v, const routes_reader *r)
{
    const double u = routes_then(run, r, v->controller);
    const signed char *sides = v->encoder == PI2_COUPLED ? routes_sides(run, r->mode, v->node) : NULL;
    return fluid_encode_on(sides ? sides[0] : fluid_is_within(v->coupling, u), v->encoder, v->coupling, u, v->scalable);
}

/* The probability of a signal, of all nodes of its route, that a class hears: now, or later by `after` (s) if all goes on
 * by the slopes at a point. */
static inline double routes_hear(const pi2_routes *run, int i, double after, const routes_point *at)
{
    const routes_class *c = run->classes + i;
    double together = 0.0;
    if (!routes_shares(run, run->readers[c->reader].mode)[i].active)
        return 0.0;
    for (const routes_visit *v = run->visits + c->from; v < run->visits + c->end; v++) {
        const routes_reader *r = run->readers + v->signals;
        double p;
        if (r->mode->signalling == 0.0)
            continue;
        if (after == 0.0 && v->encoder != PI2_OTHER_ENCODER)
            p = routes_encoded(run, v, r);
        else
            p = routes_signal_then(run, c, v, after != 0.0 ? after * routes_reading_speed(r, at) : 0.0);
        together = routes_combine(run, together, p);
    }
    return together;
}

/* Goes back to what a class hears now. */
static inline void routes_go_back_for(pi2_routes *run, int i, const routes_point *at)
{
    const routes_class *c = run->classes + i;
    routes_go_back(run, run->readers + c->reader, at);
    for (int v = c->from; v < c->end; v++)
        routes_go_back(run, run->readers + run->visits[v].signals, at);
}

/* What class i hears: the state, probability of a signal and round-trip time of then, of which the past has been read. */
typedef struct {
    double x[PI2_SENDER_STATES], p, rtt;
} routes_heard_then;

/* The delay of a queue where a reader looks: without dual queues each node has its own. */
static inline double routes_delay_then(const pi2_routes *run, const routes_reader *r, int k)
{
    return SELDOM(run->dual) ? routes_dual_delay_then(run, r, k) : routes_then(run, r, k) * r->mode->links[k].per_packet;
}

/* The same of a dual queue alone: one reader sees the queues, whose delay the law looks at too, and the signals. */
void routes_hear_of_two(const pi2_routes *run, int i, routes_heard_then *then);

static inline void routes_hear_all(const pi2_routes *run, int i, routes_heard_then *then)
{
    const routes_class *c = run->classes + i;
    const routes_reader *r = run->readers + c->reader;
    if (SELDOM(run->dual) && run->at_once) {
        routes_hear_of_two(run, i, then);
        return;
    }
    then->x[0] = routes_then(run, r, c->x);
    if (!c->plain)
        for (int j = 1; j < c->states; j++)
            if (c->law->recalls & (1u << j))
                then->x[j] = routes_then(run, r, c->x + j);
    then->rtt = c->base_rtt;
    for (int k = 0; k < c->end - c->from; k++)
        then->rtt += routes_delay_then(run, r, c->queues[k]);
    then->p = routes_hear(run, i, 0.0, NULL);
}
