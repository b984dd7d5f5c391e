/* What travels: a packet as the queue and both ends see it, and its acknowledgement. */
#pragma once

#include <stdint.h>

/* The ECN field, RFC 3168 section 5 and RFC 9331 section 2. */
enum { PI2_NOT_ECT, PI2_ECT1, PI2_ECT0, PI2_CE };

enum {
    PI2_SYN = 1,         /* opens the connection; carries no segment */
    PI2_CWR = 2,         /* the sender has reduced its window (RFC 3168, section 6.1.2) */
    PI2_UNRESPONSIVE = 4, /* nobody acknowledges it */
    PI2_RETURNING = 8,   /* it is an acknowledgement, kept where `segment` says while it crosses links */
    PI2_LAST = 16,       /* it ends a transfer, and is acknowledged at once */
    PI2_PSH = 32         /* the sending program has nothing behind it yet (RFC 9293, section 3.9.1.2) */
};

#define PI2_NOT_QUEUED (-1)

typedef struct {
    int64_t enqueued; /* ns, when it entered the queue; PI2_NOT_QUEUED: it has not */
    int64_t sent;     /* ns, when it was sent, which the acknowledgement echoes */
    uint32_t segment; /* number of the segment within its flow */
    uint32_t flow;
    uint32_t leg;     /* of its class: at which link it is, or was last, or will be next */
    /* One word, so that there are two packets in a line of memory. */
    unsigned bytes : 16;   /* as the queue counts them */
    unsigned ecn : 7, flags : 6;
    unsigned onward : 1;   /* it is under way to the queue of its leg, not to the receiver */
    unsigned eligible : 1; /* DualPI2: whether the step may mark it (decided on arrival) */
    unsigned band : 1;     /* through which it goes: by its ECN field on arrival, where there are two */
} pi2_packet;

/* An acknowledgement. */
enum { PI2_ACK_SYN = 1, PI2_ACK_ECE = 2, PI2_ACK_DUPLICATE = 4 };
typedef struct {
    uint32_t flow;
    uint32_t next;      /* first segment that has not arrived in order */
    uint32_t log;       /* how many arrivals out of order the receiver had logged */
    uint32_t duplicate; /* the segment that arrived twice, if flagged */
    int64_t echo;       /* ns: when the first segment was sent that it newly acknowledges */
    uint32_t flags;
} pi2_ack;

/* What became of packets, counted for each class at each link. */
enum {
    PI2_SENT,          /* into the queue or lost at its tail */
    PI2_DELIVERED,     /* to the receiver or, where there is one, the next link */
    PI2_DROP_AQM,      /* signalled by loss */
    PI2_DROP_FULL,     /* did not fit */
    PI2_DROP_OVERLOAD, /* dropped although it could have been marked */
    PI2_MARK_AQM,
    PI2_MARK_STEP,     /* by the L4S queue's own threshold */
    PI2_LOST_BEHIND,   /* behind the link, whatever the queue did */
    PI2_CAUSES
};
