/* What comes out of a run: rows for each bin, histograms of delays, totals, and a trace if one is wanted. */
#pragma once

#include "packet/core/packet.h"
#include "packet/run/delay_buckets.h"

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

/* The run is divided into blocks whose delays are counted apart. */
enum { PI2_MOST_BLOCKS = 100 };
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
