/* The inside of a run: what its parts share. */
#pragma once

#include "packet/core/pending.h"
#include "packet/run/hop.h"
#include "packet/run/outcome.h"
#include "packet/run/scenario.h"
#include "packet/tcp/flow.h"

/* A class at one link of its route. Those of a class follow one another, and packets go from one to the next. */
typedef struct {
    pi2_hop *hop;
    uint32_t pipe;          /* to the next link or, if this is the last, the receiver */
    uint8_t first, last;    /* on the way to the receiver; and the first on the way back */
    uint8_t at_end;         /* it is the last, and the receiver is near; or the last on the way back */
    int64_t bits, departures; /* in this bin */
    double sojourn;         /* ns, summed over them: 63 bits would not hold some hundred waits of half a year */
    uint32_t *delays;       /* departures in this block, by delay */
    int64_t before[PI2_CAUSES]; /* counts at its beginning */
    int64_t in_flight;      /* left the link, but have not come to the next, or the receiver */
} pi2_leg;

/* How late acknowledgements are, of those who cross a link last. */
typedef struct {
    uint64_t below; /* ns, 0: none is late */
    uint64_t key, index;
} pi2_lateness;

/* A class of flows, as it is during the run. */
typedef struct {
    const pi2_packet_class *spec;
    uint32_t first, most;   /* its flows are first .. first + most - 1 */
    uint32_t used;          /* how many of them were called so far; none is called twice */
    uint32_t *present;      /* stack of those that are there, or were called and will be */
    uint32_t present_count;
    pi2_hop *hop;           /* the first that it crosses, */
    uint32_t leg;           /* its leg there, */
    uint32_t access;        /* and the pipe to there; PI2_NO_PIPE: it is near */
    uint32_t back;          /* the pipe of its acknowledgements, */
    pi2_lateness *late;     /* by how much they are late, */
    uint32_t back_leg;      /* and what they cross first, which is at a link if there are more legs, */
    uint32_t back_access;   /* with the pipe to there; PI2_NO_PIPE: it is near */
    int returns;            /* they cross links */
    int exact_ce;           /* they tell of each mark */
    int reacts;             /* marks lead to a reduction */
    int64_t window_sum;     /* of all its flows, segments */
    int64_t there;          /* how many flows that is */
    int64_t changed;        /* ns: up to when the sums are integrated */
    double window_area, flow_area; /* segments ns and flows ns in this bin */
    int64_t retransmissions, timeouts;
    uint32_t *free;         /* stack of flows to which a transfer may come, if transfers arrive */
    uint32_t free_count;
    int arriving;           /* the next one is planned */
    uint64_t arrived;       /* how many came */
    int64_t turned_away;
    double *sizes;          /* numbers of the distribution of sizes */
} pi2_class;

/* A flow that is to start, or a transfer that is to arrive. */
typedef struct {
    int64_t at; /* ns */
    uint32_t flow; /* of a transfer, its class behind all flows */
} pi2_start;

/* A step of the schedule: a class that begins, changes or ends, or a new capacity of a link. */
typedef struct {
    int64_t at;      /* ns */
    int order;       /* in which it was given: the last word at one time is that of the last */
    int class_;      /* -1: a capacity; below: the path of class -2 - class_ */
    uint32_t link;   /* whose */
    uint32_t count;  /* flows from now on */
    double capacity; /* bit/s */
    int64_t forward, back; /* ns of the path */
} pi2_step;

typedef struct pi2_run {
    /* what there is */
    pi2_packet_scenario scenario;
    pi2_packet_class *specs;
    pi2_step *steps;        /* in the order of time */
    int step_count, next_step;
    pi2_class *classes;
    void *flow_memory;
    pi2_flow *flows;        /* in it, at a multiple of 64 bytes */
    uint32_t flow_count;
    int crowded;            /* they are so many that memory is called for ahead */
    pi2_hop *hops;
    pi2_lateness *late;     /* by hop */
    uint32_t hop_count;
    uint32_t band_count;    /* of all hops together */
    pi2_leg *legs;
    uint32_t leg_count;
    int64_t *counts;        /* PI2_CAUSES of each leg */

    /* what is to come */
    int64_t now;
    /* ns: the next end of a bin, step of the schedule, start of a flow, and the earliest, ticks of hops among them */
    int64_t bin_end, step_due, start_due, planned;
    pi2_winners ticks, links; /* when each hop's controller acts, and its link */
    pi2_pipes acks, data;
    pi2_ack *returning;     /* those that cross links, by number; of free ones `flow` is the next free */
    uint32_t returning_room, returning_free;
    pi2_timers timers;
    pi2_start *starts;      /* heap of (at, flow) */
    uint32_t start_count;

    /* statistics */
    int64_t bin, bins, per_block;
    int blocks;
    double *bin_rows, *band_rows, *leg_rows, *class_rows;
    pi2_delays *delays;     /* of each block that has begun */
    uint32_t buckets;       /* that are there in this block */
    uint32_t *delivered;
    int64_t *leg_totals, *class_totals;
    pi2_transfer *transfers;
    int64_t transferred, room_for_transfers;
    pi2_trace_row *trace;
    int64_t traced, events, packets;
    int no_memory;
} pi2_run;

static inline pi2_class *pi2_class_of(pi2_run *run, const pi2_flow *flow)
{
    return run->classes + flow->class_;
}

/* Whether a flow follows the rules of another one, as its connection is one without ECN. */
static inline int pi2_fell_back(const pi2_packet_class *spec, const pi2_flow *flow)
{
    return flow->unmarkable && spec->congestion->without_ecn;
}

static inline const pi2_congestion *pi2_control_of(const pi2_packet_class *spec, const pi2_flow *flow)
{
    return pi2_fell_back(spec, flow) ? spec->congestion->without_ecn : spec->congestion;
}

static inline const double *pi2_parameters_of(const pi2_packet_class *spec, const pi2_flow *flow)
{
    return pi2_fell_back(spec, flow) ? spec->congestion->parameters_without_ecn : spec->parameters;
}

/* What the packets of a flow say of ECN. */
static inline uint8_t pi2_ecn_of(pi2_run *run, const pi2_flow *flow)
{
    return flow->unmarkable ? PI2_NOT_ECT : (uint8_t)pi2_class_of(run, flow)->spec->ecn;
}

static inline uint32_t pi2_number(const pi2_run *run, const pi2_flow *flow)
{
    return (uint32_t)(flow - run->flows);
}
