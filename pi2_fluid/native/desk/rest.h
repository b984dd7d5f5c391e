/* Where classes of flows and the queue that they share come to rest, by the tapes of their laws: at the one value of the
 * controller's variable at which the flows send as much as the link serves.
 */
#pragma once

#include "laws/sender.h"
#include "laws/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { PI2_HEARS_NOTHING, PI2_HEARS_CLASSIC, PI2_HEARS_SCALABLE } pi2_hearing;

/* Equal flows of one sender. The tapes are not bound: `numbers` are their parameters. */
typedef struct {
    const pi2_tape *at_rest; /* round-trip time, p -> state; NULL: it is found from `rate`, of one state */
    const pi2_tape *rate;    /* state, state of one round trip ago, p, round-trip time twice -> its change */
    const pi2_tape *sending; /* state, p, round-trip time -> segments/s */
    const double *numbers;
    int states;
    pi2_hearing hears;
    double count, base_rtt; /* s */
} pi2_desk_flows;

typedef struct {
    const pi2_tape *encode;  /* u -> what Classic and Scalable packets see */
    const pi2_tape *at_rest; /* u, packets per second -> state and queue delay, of two bands two of them */
    const double *numbers;
    int bands, states;
    double highest; /* value of u above which no more is signalled */
    double load;    /* what arrives at rest, of what the link serves */
    double packets; /* per second that the link serves */
} pi2_desk_queue;

typedef struct {
    double p, rtt, rate; /* rtt in s, rate in segments/s of one flow */
    double x[PI2_SENDER_STATES];
} pi2_flows_at_rest;

typedef struct {
    double u, delay[2]; /* s; of one band the first */
} pi2_queue_at_rest;

/* Where a queue rests at u, and what Classic and Scalable packets see there; where flows rest that hear p. */
void pi2_queue_rests_at(const pi2_desk_queue *queue, double u, pi2_queue_at_rest *at, double *signal);
void pi2_flows_rest_at(const pi2_desk_flows *flows, double p, double rtt, pi2_flows_at_rest *rest);

/* Of so many classes; 0 if they rest nowhere between the weakest signal and the strongest, or a law has no value there. */
int pi2_find_rest(const pi2_desk_queue *queue, int classes, const pi2_desk_flows *flows, pi2_queue_at_rest *at,
                  pi2_flows_at_rest *rests);

#ifdef __cplusplus
}
#endif
