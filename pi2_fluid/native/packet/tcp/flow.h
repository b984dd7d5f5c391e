/* A flow: what its sender and its receiver remember. Segments are numbered from 0, one packet each. */
#pragma once

#include "packet/core/packet.h"
#include "packet/core/pending.h"
#include "packet/core/time.h"
#include "packet/tcp/congestion.h"

/* The sender's view of the network, in the order of trouble. */
enum { PI2_OPEN, PI2_DISORDER, PI2_REDUCED, PI2_RECOVERY, PI2_LOSS };
/* What the one timer of a sender is set for. */
enum { PI2_TIMER_IDLE, PI2_TIMER_RTO, PI2_TIMER_PROBE, PI2_TIMER_REORDER };
/* The timers of a flow; their numbers are PI2_TIMERS_EACH flow + these. */
enum { PI2_SENDER_TIMER, PI2_DELAYED_ACK_TIMER, PI2_COMPRESSION_TIMER, PI2_PACING_TIMER };
/* What becomes of a flow. */
enum { PI2_ABSENT, PI2_CONNECTING, PI2_ESTABLISHED, PI2_STOPPED, PI2_PAUSED }; /* paused: between two transfers */

/* Why an acknowledgement waits: for a second segment, or until the program has read what came with PSH. */
enum { PI2_DELAYED = 1, PI2_READ };

/* The board has an entry for each segment between una and next: when it was sent last (ns), and these flags. */
enum {
    PI2_SACKED = 1,         /* arrived out of order */
    PI2_LOST = 2,           /* taken for lost */
    PI2_RETRANSMITTED = 4,  /* its retransmission is under way */
    PI2_EVER = 8,           /* was retransmitted at some time */
    PI2_ARRIVED = 16,       /* the receiver has it (the sender does not read this) */
    PI2_PUSHED = 32,        /* it carries PSH, whenever it is sent */
    PI2_BOARD_SHIFT = 8
};

/* Segments for which the board needs no memory of its own. */
enum { PI2_FIRST_BOARD = 16 };

/* What a program has written and was not sent yet, as far as PSH depends on it: see push.c. A write takes a third of
 * the socket, so that four are under way at most. */
enum { PI2_WRITES = 4 };
typedef struct {
    uint32_t payload;       /* bytes of a segment without headers */
    uint32_t room;          /* segments that the socket holds; 0: no such program */
    uint32_t half;          /* segments in half of the largest window that it was offered */
    uint32_t sent, written; /* numbers of the oldest write and of the youngest */
    struct {
        uint32_t last, half; /* its last segment, and as above when it was written */
    } writes[PI2_WRITES];
} pi2_socket;

typedef struct {
    int64_t sent; /* ns */
    uint32_t segment;
} pi2_retransmission;

/* In lines of 64 bytes, and long windows elsewhere: with many flows, each line that a packet touches is far away. */
typedef struct {
    /* Sender: what every acknowledgement moves */
    _Alignas(64) pi2_window window;
    uint64_t *board;        /* ring of board_mask + 1, a power of two: first_board, or one that was allocated */
    uint32_t board_mask;
    uint16_t class_;
    uint8_t state, timer;
    uint8_t cwr_due;        /* the next new segment tells that the window was reduced */
    uint8_t frto;           /* a timeout may have been spurious (RFC 5682) */
    uint8_t may_undo;       /* the last reduction is undone if it proves needless */
    uint8_t rack_moved;     /* something was delivered since losses were last looked for */
    uint8_t unmarkable;     /* it goes without ECN, since its first SYN was not answered */

    uint32_t push;          /* the next new segment with PSH */
    uint32_t refill;        /* when this is acknowledged, its program writes more */
    uint32_t sacked, lost, retransmitted; /* segments on the board with that flag */
    uint32_t srtt, mdev, mdev_max, rttvar, rtt_end; /* us (x 8, x 4, x 4, x 4) and segment: see rtt.h */
    uint32_t rto;           /* ms, after backoff */
    uint32_t counted;       /* the window that the statistics know */
    uint32_t log_read;      /* how many arrivals out of order the sender has heard of */
    uint32_t rack_segment;
    int64_t rack_sent, rack_rtt; /* ns: of the segment sent last among those delivered */

    pi2_timer timers[PI2_TIMERS_EACH];
    int64_t paced_until;    /* ns: when a paced sender may send again */
    int64_t opened;         /* ns: when its transfer began, 0: it sends on and on */
    uint32_t probe_high;    /* next segment after a tail probe, 0: none is out */
    uint32_t retries;       /* timeouts since the last progress */
    uint32_t end;           /* first segment after its transfer */
    uint32_t transfer;      /* its number in the run */
    uint64_t first_board[PI2_FIRST_BOARD];

    /* Receiver */
    _Alignas(64) uint32_t expected;      /* first segment that has not arrived in order */
    uint32_t acknowledged;  /* as of the last acknowledgement */
    uint32_t holes;         /* segments that arrived beyond `expected` */
    uint32_t log_written;
    uint8_t life;
    uint8_t quick;          /* acknowledgements still to be sent at once */
    uint8_t echo_ce;        /* RFC 3168: until the sender confirms; RFC 8257: state of the last segment */
    uint8_t saw_ect;
    uint8_t ack_waits;      /* an acknowledgement is pending: PI2_DELAYED, or PI2_READ */
    uint16_t ato;           /* ms */
    uint16_t duplicates;    /* since `expected` moved */
    uint16_t compressed;    /* acknowledgements withheld */
    uint32_t departed;      /* packets that entered service in this block */
    uint32_t their_rto;     /* ms: the receiver's own timeout */
    int64_t last_arrival;   /* ms of the last segment in order, -1: none */
    int64_t echo;           /* ns when the first unacknowledged segment was sent */

    uint32_t handshake;     /* ms from SYN to the first segment */
    uint32_t duplicates_from; /* `expected` when they were counted */
    int64_t syn_arrived;    /* ns */
    uint32_t *log;          /* ring of segments that arrived out of order, in the order of arrival */
    uint32_t log_mask;

    /* Sender: recovery */
    uint32_t begun;         /* transfers so far */
    pi2_socket socket;
    uint32_t high;          /* next segment at the last reduction or timeout */
    uint32_t prior_threshold, prr_delivered, prr_sent;
    uint32_t undo_from;     /* first segment outstanding at the reduction */
    int32_t undo_left;      /* retransmissions not yet known to be needless, -1: none was sent */
    uint32_t hint;          /* no segment below needs a retransmission */
    uint32_t walked;        /* no first transmission below is in doubt */
    int64_t first_retransmission; /* ms of the first one in this recovery, PI2_NEVER: none */
    pi2_retransmission *again; /* ring of retransmissions in the order of sending */
    uint32_t again_mask, again_head, again_count;

    uint64_t state_of_cc[PI2_CC_STATE_BYTES / 8];
} pi2_flow;

static inline uint64_t *pi2_board(const pi2_flow *flow, uint32_t segment)
{
    return flow->board + (segment & flow->board_mask);
}

/* Rings of twice the size: 0 if there is no memory. In flow.c. */
int pi2_board_grow(pi2_flow *flow);
int pi2_log_grow(pi2_flow *flow);
int pi2_again_grow(pi2_flow *flow);
void pi2_flow_free(pi2_flow *flow);

static inline int64_t pi2_sent_at(uint64_t entry)
{
    return (int64_t)(entry >> PI2_BOARD_SHIFT);
}

static inline uint32_t pi2_outstanding(const pi2_flow *flow)
{
    return flow->window.next - flow->window.una;
}

/* Room for one more segment, arrival out of order, retransmission. */
static inline int pi2_board_room(pi2_flow *flow)
{
    return pi2_outstanding(flow) <= flow->board_mask || pi2_board_grow(flow);
}

static inline int pi2_log_room(pi2_flow *flow)
{
    return (flow->log && flow->log_written - flow->log_read <= flow->log_mask) || pi2_log_grow(flow);
}

static inline int pi2_again_room(pi2_flow *flow)
{
    return (flow->again && flow->again_count <= flow->again_mask) || pi2_again_grow(flow);
}

/* RFC 6675's pipe. */
static inline uint32_t pi2_in_flight(const pi2_flow *flow)
{
    return pi2_outstanding(flow) - flow->sacked - flow->lost + flow->retransmitted;
}

static inline int pi2_in_reduction(const pi2_flow *flow)
{
    return flow->state == PI2_REDUCED || flow->state == PI2_RECOVERY;
}
