/* The inside of a run: what its parts share. Each part is a file; its functions are listed here under its name. */
#ifndef PI2_PACKET_RUN_H
#define PI2_PACKET_RUN_H

#include "packet/tcp/flow.h"
#include "packet/core/simulator.h"
#ifndef PI2_PLAIN_CORE
#include "packet/core/pipes.h"
#endif

/* A class of flows, as it is during the run. */
typedef struct {
    const pi2_packet_class *spec;
    uint32_t first, most;   /* its flows are first .. first + most - 1 */
    uint32_t used;          /* how many of them were called so far; none is called twice */
    uint32_t *present;      /* stack of those that are there, or were called and will be */
    uint32_t present_count;
    uint32_t forward, back; /* its pipes to the receiver and back */
    int exact_ce;           /* they tell of each mark */
    int reacts;             /* marks lead to a reduction */
    int64_t window_sum;     /* of all its flows, segments */
    int64_t there;          /* how many flows that is */
    int64_t changed;        /* ns: up to when the sums are integrated */
    double window_area, flow_area; /* segments ns and flows ns in this bin */
    int64_t bits, departures; /* in this bin */
    double sojourn;         /* ns, summed over them: 63 bits would not hold some hundred waits of half a year */
    uint32_t *delays;       /* departures in this block, by delay */
    int64_t before[PI2_CAUSES]; /* counts at its beginning */
    int64_t retransmissions, timeouts, in_flight;
} pi2_class;

/* A flow that is to start. */
typedef struct {
    int64_t at; /* ns */
    uint32_t flow;
} pi2_start;

/* A step of the schedule: a class that begins, changes or ends, or a new capacity. */
typedef struct {
    int64_t at;      /* ns */
    int order;       /* in which it was given: the last word at one time is that of the last */
    int class_;      /* -1: the capacity */
    uint32_t count;  /* flows from now on */
    double capacity; /* bit/s */
} pi2_step;

struct pi2_run {
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
    pi2_queue queue;
    const pi2_qdisc *qdisc;
    void *discipline;
    int64_t *counts;

    /* what is to come */
    int64_t now;
    /* ns: the next tick of the controller, end of a bin, step of the schedule, start of a flow, and the earliest */
    int64_t tick, bin_end, step_due, start_due, planned;
    pi2_pipes acks, data;
    pi2_timers timers;
    pi2_start *starts;      /* heap of (at, flow) */
    uint32_t start_count;

    /* the link */
    int64_t link_due;       /* ns: when it acts next by itself */
    int64_t free_from;      /* htb: ns from which it may send */
    int64_t slot;           /* ns of a full packet */
    int busy;               /* wire: a packet is in service */
    pi2_packet in_service;
    uint64_t htb_factor;    /* ns of a byte, times 2^htb_shift */
    unsigned htb_shift;

    /* random numbers */
    pi2_draws at_enqueue, at_dequeue;
    uint64_t jitter_key, jitter_index, jitter; /* ns below which an acknowledgement is late, 0: none is */

    /* statistics */
    int64_t bin, bins, per_block;
    int blocks;
    double *bin_rows, *band_rows, *class_rows;
    uint32_t *delays, *delivered;
    int64_t *totals;
    int64_t backlog_since;  /* ns up to which the areas are integrated */
    double area[2], square[2]; /* bytes ns, bytes^2 ns in this bin */
    pi2_trace_row *trace;
    int64_t traced, events, packets;
    int no_memory;
};

static inline pi2_class *pi2_class_of(pi2_run *run, const pi2_flow *flow)
{
    return run->classes + flow->class_;
}

static inline uint32_t pi2_number(const pi2_run *run, const pi2_flow *flow)
{
    return (uint32_t)(flow - run->flows);
}

/* What one acknowledgement, or one timer, brings to light. */
typedef struct {
    uint32_t delivered;     /* segments newly known to have arrived */
    uint32_t newly_lost;    /* segments taken for lost */
    unsigned flags;         /* below */
} pi2_news;

enum {
    PI2_ADVANCED = 1,       /* una moved */
    PI2_NEWLY_SACKED = 2,
    PI2_ORIGINAL = 4,       /* a segment from before `high` arrived that was never retransmitted */
    PI2_ECE = 8,
    PI2_DUPLICATE = 16,     /* the receiver told of a duplicate */
    PI2_LOST_AGAIN = 32,    /* a retransmission was taken for lost */
    PI2_WAITS = 64          /* the reordering timer was set */
};

/* What is to be sent after an acknowledgement. */
enum { PI2_NOTHING_LOST, PI2_RESEND_LOST, PI2_SEND_NEW };

/* schedule.c: who sends, and when */
int pi2_schedule_new(pi2_run *run, const pi2_packet_scenario *scenario); /* 0 if there is no memory */
void pi2_schedule_free(pi2_run *run);
void pi2_schedule_step(pi2_run *run, int64_t now);
void pi2_schedule_start(pi2_run *run, int64_t now);
void pi2_cbr_send(pi2_run *run, pi2_flow *flow, int64_t now);

/* sender.c: what a flow sends, and what it learns */
void pi2_flow_open(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_flow_retry(pi2_run *run, pi2_flow *flow, int64_t now); /* its SYN was not answered */
void pi2_flow_close(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_on_ack(pi2_run *run, pi2_flow *flow, const pi2_ack *ack, int64_t now);
void pi2_transmit(pi2_run *run, pi2_flow *flow, uint32_t segment, int again, int64_t now);
void pi2_send_again(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_send_one_again(pi2_run *run, pi2_flow *flow, uint32_t segment, int64_t now); /* room was made */

/* sender_timer.c: the timer of a sender; pi2_arm_probe returns 0 if no probe is due in this state */
void pi2_arm_rto(pi2_run *run, pi2_flow *flow, int64_t now);
int pi2_arm_probe(pi2_run *run, pi2_flow *flow, int advancing, int64_t now);
void pi2_arm_reorder(pi2_run *run, pi2_flow *flow, int64_t wait, int64_t now);
void pi2_sender_timer(pi2_run *run, pi2_flow *flow, int64_t now);

/* rack.c: what counts as lost */
void pi2_rack_delivered(pi2_flow *flow, uint64_t entry, uint32_t segment, int64_t now);
void pi2_mark_lost(pi2_flow *flow, uint32_t segment, pi2_news *news);
void pi2_look_for_losses(pi2_run *run, pi2_flow *flow, pi2_news *news, int64_t now);
int64_t pi2_late_segments(pi2_flow *flow, pi2_news *news, int64_t now); /* ns after which to look again, 0: never */

/* recovery.c: what a sender does about it; pi2_react returns what is to be sent */
int pi2_react(pi2_run *run, pi2_flow *flow, pi2_news *news, int64_t echo, int64_t now);
void pi2_reduce(pi2_flow *flow, const pi2_news *news);
void pi2_reorder_timeout(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_enter_loss(pi2_run *run, pi2_flow *flow, int64_t now);

/* link.c: from the sender through the queue to the far end */
int64_t pi2_slot_of(const pi2_run *run, int bytes); /* ns that so many bytes take */
void pi2_link_capacity(pi2_run *run, double capacity, int64_t now);
void pi2_link_send(pi2_run *run, pi2_packet *packet, int64_t now); /* a packet reaches the queue */
void pi2_link_act(pi2_run *run, int64_t now);
void pi2_deliver(pi2_run *run, const pi2_packet *packet, int64_t now); /* it reaches the far end */

/* receiver.c: what is acknowledged, and when */
void pi2_receive(pi2_run *run, const pi2_packet *packet, int64_t now);
void pi2_acknowledge(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_delayed_ack(pi2_run *run, pi2_flow *flow, int64_t now);

/* statistics.c: what is counted */
int pi2_statistics_new(pi2_run *run);
void pi2_statistics_free(pi2_run *run);
void pi2_end_bin(pi2_run *run, int64_t now);
void pi2_count_flow(pi2_run *run, const pi2_flow *flow, int change, int64_t now); /* it begins (1) or ends (-1) */
void pi2_window_moved(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_departed(pi2_run *run, const pi2_packet *packet, int64_t now); /* it entered service */
void pi2_trace_event(pi2_run *run, const pi2_packet *packet, int what, int cause, int64_t now);

/* After whatever may have moved the window. */
static inline void pi2_count_window(pi2_run *run, pi2_flow *flow, int64_t now)
{
    if (flow->counted != flow->window.cwnd)
        pi2_window_moved(run, flow, now);
}

/* Before the backlog changes. */
static inline void pi2_backlog_changes(pi2_run *run, int64_t now)
{
    const double time = (double)(now - run->backlog_since);
    if (now == run->backlog_since)
        return;
    for (int band = 0; band < run->queue.bands; band++) {
        const double bytes = (double)run->queue.band[band].bytes;
        run->area[band] += bytes * time;
        run->square[band] += bytes * bytes * time;
    }
    run->backlog_since = now;
}

#endif
