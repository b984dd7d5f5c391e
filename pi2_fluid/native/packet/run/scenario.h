/* What goes into a run: links with their queue disciplines, classes of flows, changes on the way. Time is in ns. */
#pragma once

#include "packet/core/sizes.h"
#include "packet/queues/qdisc.h"
#include "packet/tcp/congestion.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_LINK_WIRE, PI2_LINK_HTB };                         /* `kind` */
enum { PI2_DELAY_RETURN, PI2_DELAY_FORWARD, PI2_DELAY_SPLIT }; /* `delay_on` */

typedef struct {
    double capacity;        /* bit/s */
    int kind;
    int delay_on;           /* of those who cross it last: where what is left of their base_rtt lies, behind it or back */
    int64_t ack_jitter;     /* ns; of their acknowledgements */
    int64_t buffer;         /* packets */
    double loss;            /* part of all packets that is lost behind it, below 1, */
    double loss_burst;      /* and how many in a row in the mean; 0: each by itself */
    uint32_t aggregate;     /* packets that it sends as one, at most; 1: each by itself */
    int64_t aggregate_time; /* ns that those may take together if they are more than one */
    uint32_t ring;          /* packets of a ring between queue and wire, that in service among them; 0: there is none */
    int bql;                /* it has byte queue limits, */
    int64_t bql_least, bql_most; /* whose limit (bytes) stays within these */
    const pi2_qdisc *qdisc;
    double qdisc_parameters[PI2_QDISC_PARAMETERS];
    size_t push_count;
    const double *pushes;   /* before each tick: added to the controller's variable */
} pi2_packet_link;

enum { PI2_PUSH_OF_LINUX = -1 };

typedef struct {
    const pi2_congestion *congestion; /* NULL: a source that nobody answers */
    double parameters[PI2_CC_PARAMETERS];
    double interval;        /* of a source: ns between two of its bursts, on average */
    uint32_t burst;         /* bytes of each, */
    double spacing;         /* and ns between them; 0: all at once */
    int poisson;            /* bursts come at random */
    double sends, pause;    /* ns, means: it sends for so long, then pauses; pause 0: it never does */
    int packet_size;        /* bytes of its full packets, at most those of the run */
    uint32_t count;         /* flows at the beginning */
    int64_t base_rtt;       /* ns */
    int64_t start, stop;    /* ns; PI2_NEVER: to the end */
    int64_t start_jitter;   /* ns: each flow starts at a random time within it */
    uint32_t initial_window; /* segments */
    int slow_start;         /* 0: begins in congestion avoidance */
    int delayed_ack;        /* 0: every segment is acknowledged at once */
    int push_every;         /* segments from one with PSH to the next; 0: none has it, PI2_PUSH_OF_LINUX: see push.c */
    int paced;              /* new segments leave at window / smoothed round-trip time, at least so many at once; 0: as
                             * acknowledgements come */
    int ecn;                /* ECN field of its packets: PI2_NOT_ECT, PI2_ECT1 or PI2_ECT0 */
    pi2_sizes sizes;        /* of transfers; PI2_SIZES_ENDLESS: there are none */
    double idle;            /* ns, mean: each flow is a source that waits so long after a transfer before the next; or, */
    double gap;             /* if this is not 0, ns, mean: so often a transfer arrives and is sent by a flow that is free */
    uint32_t route_length;  /* at least 1 */
    const uint32_t *route;  /* the links that it crosses, in order, each once */
    const int64_t *hops;    /* ns of propagation to each of them, from the source or the link before; within base_rtt */
    uint32_t back_length;   /* 0: acknowledgements cross no link */
    const uint32_t *back;   /* the links that they cross, none of those of the route */
    const int64_t *back_hops; /* ns to each of them, from the receiver or the link before; with hops within base_rtt */
} pi2_packet_class;

typedef struct {
    int64_t at;      /* ns */
    double capacity; /* bit/s, 0: it serves nothing; -1: as it is */
    uint32_t link;   /* whose capacity */
} pi2_packet_change;

/* The path of a class becomes another: what is sent from then on takes its time, but overtakes nothing. */
typedef struct {
    int64_t at, base_rtt; /* ns */
    uint32_t class_;
} pi2_packet_detour;

typedef struct {
    uint64_t seed;
    int64_t duration, bin;  /* ns; the last bin may be shorter */
    int packet_size;        /* bytes */
    int link_count, class_count, change_count;
    const pi2_packet_link *links;
    const pi2_packet_class *classes;
    const pi2_packet_change *changes; /* in the order of time */
    const int64_t *counts;  /* of each change, for each class: flows, -1: as they are */
    int detour_count;
    const pi2_packet_detour *detours; /* in the order of time */
    int64_t trace;          /* events recorded at most */
} pi2_packet_scenario;

/* When a class is told how many flows are to be there (ns). */
typedef struct {
    int64_t at;
    uint32_t count;
} pi2_class_step;

/* The steps of class `i`, in the order of time: at most change_count + 2 of them, whose number goes to `*steps`. Returns
 * the flows that it has in the whole run, one after the other: whoever is called after others have gone is a new one. */
uint64_t pi2_class_steps(const pi2_packet_scenario *scenario, int i, pi2_class_step *to, int *steps);

#ifdef __cplusplus
}
#endif
