/* What comes out of a run: rows for each bin, histograms of delays, totals, and a trace if one is wanted. */
#pragma once

#include "packet/core/packet.h"
#include "packet/run/delay_buckets.h"

/* One row of each bin and link. */
enum {
    PI2_BIN_CAPACITY,
    PI2_BIN_CONTROLLER,
    PI2_BIN_CLASSIC,
    PI2_BIN_SCALABLE,
    PI2_BIN_RING_BYTES,   /* of its ring, behind the packet in service: time mean */
    PI2_BIN_RING_WAITED,  /* ns, summed over those that went from the ring into service, */
    PI2_BIN_RING_ENTERED, /* and how many these were */
    PI2_BIN_RING_LIMIT,   /* bytes that byte queue limits let into it, at the end of the bin; 0: it has none */
    PI2_BIN_COLUMNS
};
/* One row of each bin and band, link after link: time means of the backlog (bytes) and of its square. */
enum { PI2_BAND_BYTES, PI2_BAND_SQUARE, PI2_BAND_COLUMNS };
/* One row of each bin and leg, which is a class at a link of its route: those of the first class in the order of its
 * route, then those of the next. */
enum {
    PI2_LEG_ARRIVALS,   /* packets that came to the queue, lost at its tail or not */
    PI2_LEG_DEPARTURES, /* packets that entered service */
    PI2_LEG_BITS,       /* of those that left the link */
    PI2_LEG_DROPS,      /* packets lost, for whatever cause */
    PI2_LEG_MARKS,
    PI2_LEG_SOJOURN,    /* ns, summed over departures: from entering the queue to entering service */
    PI2_LEG_COLUMNS
};
/* One row of each bin and class. Windows: time mean, over the flows that are there. */
enum {
    PI2_CLASS_WINDOW, /* segments */
    PI2_CLASS_FLOWS,  /* time mean of how many there are */
    PI2_CLASS_COLUMNS
};
/* Of each leg, over the whole run; the causes of packet.h, then these. */
enum {
    PI2_TOTAL_QUEUED = PI2_CAUSES, /* in the queue or in service at the end */
    PI2_TOTAL_IN_FLIGHT,           /* left the link, but have not come to the next, or the receiver */
    PI2_LEG_TOTALS
};
/* Of each class, over the whole run. */
enum {
    PI2_TOTAL_RETRANSMISSIONS,
    PI2_TOTAL_TIMEOUTS,
    PI2_TOTAL_TURNED_AWAY, /* transfers that came while no flow was free */
    PI2_CLASS_TOTALS
};

/* A transfer, in the order in which they begin. */
typedef struct {
    int64_t begun;       /* ns: its SYN was sent */
    int64_t took;        /* ns until its last segment was acknowledged, PI2_UNFINISHED: it was not */
    uint32_t flow, size; /* segments */
} pi2_transfer;

#define PI2_UNFINISHED (-1)

/* The run is divided into blocks whose delays are counted apart. */
enum { PI2_MOST_BLOCKS = 100 };
/* There are fewer blocks where the histograms of all legs would take more buckets than this, 32 MiB. */
enum { PI2_MOST_BUCKETS = 1 << 23 };

/* Of a block: departures of each leg by delay. No delay was in a bucket that is not there. */
typedef struct {
    uint32_t *counts; /* [legs][buckets] */
    uint32_t buckets; /* a multiple of PI2_DELAY_OCTAVE, PI2_DELAY_BUCKETS at most */
} pi2_delays;

/* What a trace records. */
enum { PI2_TRACE_ENQUEUE, PI2_TRACE_DEQUEUE, PI2_TRACE_DROP, PI2_TRACE_MARK, PI2_TRACE_LOST };
typedef struct {
    int64_t time;      /* ns */
    int64_t waited;    /* ns in the queue */
    uint32_t flow, segment;
    uint16_t bytes;
    uint8_t what, band, ecn, cause;
    uint16_t link;
} pi2_trace_row;

/* What was counted so far; all arrays belong to the run. */
typedef struct {
    int links, bands, legs, classes, blocks; /* bands: of all links together */
    int64_t bins;            /* in the whole run */
    int64_t block;           /* bins in each block (the last may have fewer) */
    int64_t flows;           /* most flows there are at any time, over all classes */
    const double *bin_rows;  /* [bins][links][PI2_BIN_COLUMNS] */
    const double *band_rows; /* [bins][bands][PI2_BAND_COLUMNS] */
    const double *leg_rows;  /* [bins][legs][PI2_LEG_COLUMNS] */
    const double *class_rows; /* [bins][classes][PI2_CLASS_COLUMNS] */
    const pi2_delays *delays; /* [blocks]: packets that left */
    const uint32_t *delivered; /* [blocks][flows]: segments that left their last link, flows in the order of classes */
    const int64_t *leg_totals; /* [legs][PI2_LEG_TOTALS] */
    const int64_t *class_totals; /* [classes][PI2_CLASS_TOTALS] */
    const pi2_transfer *transfers;
    int64_t transferred;     /* how many began */
    const pi2_trace_row *trace;
    int64_t traced;          /* rows of it */
    int64_t events, packets; /* events handled, packets that entered service, at each link */
} pi2_packet_outcome;
