/* Dual queues: two at a node, Classic and L4S, which share its link as the law says. What one gets follows, while the other
 * is empty, from what arrives there, so that rates and shares are found together; see rates.c. */
#pragma once

#include "fluid/routes/run.h"

/* Packets/s that enter a queue. */
static inline double routes_arrivals(const pi2_routes *run, int k, const double *y)
{
    const routes_queue *queue = run->queues + k;
    double sum = 0.0;
    for (int n = 0; n < queue->visit_count; n++)
        sum += y[queue->offered[n]];
    return sum;
}
/* Whether the buffer of a node is full. */
static inline int routes_is_full(const routes_link *link, int bands)
{
    return link->bound[0] == FULL || (bands == 2 && link->bound[1] == FULL);
}

/* How a dual queue shares its link: of each of its queues, what arrives, what it gets, how it would grow (packets/s), and
 * its delay (s). */
typedef struct {
    double arrivals[2], served[2], net[2], tau[2];
} routes_shares_of_link;
/* That of node l, by the rates in y. */
routes_shares_of_link routes_share(const pi2_routes *run, int l, const double *y, const routes_mode *mode);
/* The same, where of those the queues without packets need it is said what arrives; `net` is not found. */
void routes_share_by(const pi2_routes *run, int l, const double *y, const routes_mode *mode,
                     routes_shares_of_link *shares);
/* Of all dual queues of a point: what they get, and their delays, by the rates in at->y. */
void routes_share_all(const pi2_routes *run, routes_point *at);
/* How fast the queues of such a node grow, by what they get; or if not `all`, those that packets wait in. */
void routes_find_net(const pi2_routes *run, int l, routes_point *at, int all);
/* Whether they get something else by the rates that have been found with that. */
int routes_shares_moved(const pi2_routes *run, const routes_point *at);
/* How fast what they get changes, and their delays, by the slopes of what enters them. */
void routes_dual_slopes(const pi2_routes *run, routes_point *at);
/* The delay of a queue, dual or not, where a reader looks. */
double routes_dual_delay_then(const pi2_routes *run, const routes_reader *r, int k);
/* What the law of a dual queue knows of it. */
void routes_see_two(const pi2_routes *run, int l, const double *y, const routes_mode *mode, pi2_seen *seen);
/* How fast the queues of a node would grow together, were there room. */
double routes_growth(const pi2_routes *run, int l, const double *net);
/* dq/dt of both queues within the bounds that hold. */
void routes_queue_slopes(const routes_link *link, const double *net, double *slopes);
