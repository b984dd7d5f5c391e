/* One run of the packet simulator: a bottleneck, its queue discipline, its flows, its schedule. Pure C11.
 *
 * The door of this folder: a scenario goes in, `advance` runs it for a number of events at a time, and what was
 * counted comes out. Time is in ns from the beginning. Same scenario and seed: same bytes, on every platform.
 *
 * Events of one instant happen in this order: the end of a bin, a change of the schedule, a tick of the queue's
 * controller, starts of flows, the link, arrivals at the receivers, acknowledgements at the senders, timers; among
 * starts and timers the lower flow first, among arrivals and acknowledgements the lower pipe (pipes are numbered as
 * the classes that first use them).
 */
#ifndef PI2_PACKET_SIMULATOR_H
#define PI2_PACKET_SIMULATOR_H

#include "packet/tcp/congestion.h"
#include "packet/core/limits.h"
#include "packet/queues/qdisc.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_LINK_WIRE, PI2_LINK_HTB };                         /* `kind` */
enum { PI2_DELAY_RETURN, PI2_DELAY_FORWARD, PI2_DELAY_SPLIT }; /* `delay_on` */

typedef struct {
    const pi2_congestion *congestion; /* NULL: constant bit rate */
    double parameters[PI2_CC_PARAMETERS];
    double interval;        /* ns between two packets of a flow of constant bit rate */
    uint32_t count;         /* flows at the beginning */
    int64_t base_rtt;       /* ns */
    int64_t start, stop;    /* ns; PI2_NEVER: to the end */
    int64_t start_jitter;   /* ns: each flow starts at a random time within it */
    uint32_t initial_window; /* segments */
    int slow_start;         /* 0: begins in congestion avoidance */
    int delayed_ack;        /* 0: every segment is acknowledged at once */
    int ecn;                /* ECN field of its packets: PI2_NOT_ECT, PI2_ECT1 or PI2_ECT0 */
} pi2_packet_class;

typedef struct {
    int64_t at;      /* ns */
    double capacity; /* bit/s, 0: as it is */
} pi2_packet_change;

typedef struct {
    uint64_t seed;
    int64_t duration, bin;  /* ns; the last bin may be shorter */
    double capacity;        /* bit/s */
    int kind, delay_on;
    int64_t ack_jitter;     /* ns */
    int64_t buffer;         /* packets */
    int packet_size;        /* bytes */
    const pi2_qdisc *qdisc;
    double qdisc_parameters[PI2_QDISC_PARAMETERS];
    int class_count, change_count;
    const pi2_packet_class *classes;
    const pi2_packet_change *changes; /* in the order of time */
    const int64_t *counts;  /* of each change, for each class: flows, -1: as they are */
    int64_t trace;          /* events recorded at most */
} pi2_packet_scenario;

/* One row of each bin. */
enum { PI2_BIN_CAPACITY, PI2_BIN_CONTROLLER, PI2_BIN_CLASSIC, PI2_BIN_SCALABLE, PI2_BIN_COLUMNS };
/* One row of each bin and band: time means of the backlog (bytes) and of its square. */
enum { PI2_BAND_BYTES, PI2_BAND_SQUARE, PI2_BAND_COLUMNS };
/* One row of each bin and class. Windows: time mean, over the flows that are there. */
enum {
    PI2_CLASS_ARRIVALS,   /* packets that were sent into the queue, lost at its tail or not */
    PI2_CLASS_DEPARTURES, /* packets that entered service */
    PI2_CLASS_BITS,       /* of those that left the link */
    PI2_CLASS_DROPS,      /* packets lost, for whatever cause */
    PI2_CLASS_MARKS,
    PI2_CLASS_SOJOURN,    /* ns, summed over departures: from entering the queue to entering service */
    PI2_CLASS_WINDOW,     /* segments */
    PI2_CLASS_FLOWS,      /* time mean of how many there are */
    PI2_CLASS_COLUMNS
};
/* Of each class, over the whole run; the causes of packet.h, then these. */
enum {
    PI2_TOTAL_QUEUED = PI2_CAUSES, /* in the queue or in service at the end */
    PI2_TOTAL_IN_FLIGHT,           /* left the link, but the receiver has not seen them */
    PI2_TOTAL_RETRANSMISSIONS,
    PI2_TOTAL_TIMEOUTS,
    PI2_TOTALS
};

/* Delays are counted in whole microseconds below 2^PI2_DELAY_BITS, from there on in 2^PI2_DELAY_BITS buckets for
 * each factor of 2: a relative width of 1.6 %. The run is divided into blocks that are counted apart. */
enum { PI2_DELAY_BITS = 6, PI2_DELAY_BUCKETS = (1 << PI2_DELAY_BITS) * 24, PI2_MOST_BLOCKS = 100 };
/* There are fewer blocks where the histograms of all classes would take more buckets than this, 32 MiB. */
enum { PI2_MOST_BUCKETS = 1 << 23 };

/* What a trace records. */
enum { PI2_TRACE_ENQUEUE, PI2_TRACE_DEQUEUE, PI2_TRACE_DROP, PI2_TRACE_MARK };
typedef struct {
    int64_t time;      /* ns */
    int64_t waited;    /* ns in the queue */
    uint32_t flow, segment;
    uint16_t bytes;
    uint8_t what, band, ecn, cause;
    uint16_t spare;
} pi2_trace_row;

/* What was counted so far; all arrays belong to the run. */
typedef struct {
    int bands, classes, blocks;
    int64_t bins;            /* in the whole run */
    int64_t block;           /* bins in each block (the last may have fewer) */
    int64_t flows;           /* most flows there are at any time, over all classes */
    const double *bin_rows;  /* [bins][PI2_BIN_COLUMNS] */
    const double *band_rows; /* [bins][bands][PI2_BAND_COLUMNS] */
    const double *class_rows; /* [bins][classes][PI2_CLASS_COLUMNS] */
    const uint32_t *delays;  /* [blocks][classes][PI2_DELAY_BUCKETS]: packets that left */
    const uint32_t *delivered; /* [blocks][flows]: segments that left the link, flows in the order of classes */
    const int64_t *totals;   /* [classes][PI2_TOTALS] */
    const pi2_trace_row *trace;
    int64_t traced;          /* rows of it */
    int64_t events, packets; /* events handled, packets that entered service */
} pi2_packet_outcome;

typedef struct pi2_run pi2_run;

enum { PI2_RUN_MORE, PI2_RUN_DONE, PI2_RUN_NO_MEMORY };

/* When a class is told how many flows are to be there (ns). */
typedef struct {
    int64_t at;
    uint32_t count;
} pi2_class_step;

/* The steps of class `i`, in the order of time: at most change_count + 2 of them, whose number goes to `*steps`. Returns
 * the flows that it has in the whole run, one after the other: whoever is called after others have gone is a new one. */
uint64_t pi2_class_steps(const pi2_packet_scenario *scenario, int i, pi2_class_step *to, int *steps);

/* NULL if there is no memory, or the discipline refuses its parameters (then `*refused` is 1).
 *
 * Whoever calls this has checked, and nothing here checks again, that
 *   duration is 1 ns to PI2_LONGEST, bin at least 1 ns, buffer 1 to 10^9, packet_size 64 to 65535, ack_jitter 0 to
 *   2^31 ns;
 *   a full packet takes 1 ns to 2^53 ns at every capacity, and so long are the intervals of constant bit rate;
 *   there are 1 to 65535 classes, with base_rtt, start and start_jitter of 0 to PI2_LONGEST, stop not before start and
 *   up to PI2_LONGEST or PI2_NEVER, initial_window 1 to 10^6;
 *   changes are in the order of time, from 0 on, and their counts are -1 or numbers of flows;
 *   all parameters are numbers, gains at most 10^6 Hz, times 10^-9 to 10^6 s where they cannot be 0.
 * All else may be: bins longer than the run, no flows, flows that come after its end, several changes at one instant.
 * How long a run takes is the caller's concern, and so is memory: some 600 bytes for each flow and 4 for each of its
 * blocks, 6 KB for each class and block, of which there are fewer the more classes. */
pi2_run *pi2_run_new(const pi2_packet_scenario *scenario, int *refused);
void pi2_run_free(pi2_run *run);
/* Handles up to `events` events. */
int pi2_run_advance(pi2_run *run, int64_t events);
/* ns up to which the run has come. */
int64_t pi2_run_time(const pi2_run *run);
void pi2_run_outcome(const pi2_run *run, pi2_packet_outcome *outcome);
/* Lower edge of a delay bucket, s. */
double pi2_delay_edge(int bucket);

#ifdef __cplusplus
}
#endif

#endif
