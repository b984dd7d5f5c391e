/* Flow queueing: one queue for each flow, all but for collisions of a hash, each with a discipline and its variables of
 * its own, and one list of those that take turns at the link. RFC 8290, section 4; tc-fq_codel(8), tc-fq_pie(8).
 *
 * Which discipline runs in the queues is told by who uses this: fq_codel.c, fq_pie.c. */
#pragma once

#include "packet/queues/qdisc.h"

/* The parameters, which stand before those of the discipline inside. */
#define PI2_FLOW_QUEUES_FIELDS(F) \
    F(flows)        /* queues into which flows are hashed */ \
    F(quantum)      /* bytes that a queue sends in its turn */ \
    F(memory_limit) /* bytes of memory that packets may take together */ \
    F(drop_batch)   /* when all is full, packets lost at most from the longest queue; 0: what arrives is lost instead */

typedef struct {
    PI2_FLOW_QUEUES_FIELDS(PI2_FIELD)
} pi2_flow_queues_given;

enum { PI2_MOST_FLOW_QUEUES = 65536 };

typedef struct pi2_flow_queue pi2_flow_queue;

typedef struct {
    uint32_t head, tail;
} pi2_turns;

/* The block of a discipline that keeps such queues. */
typedef struct {
    const pi2_qdisc *inner;
    double inner_parameters[PI2_QDISC_PARAMETERS];
    pi2_flow_queue *queues;
    unsigned char *states;  /* of the discipline in each of them */
    size_t size;            /* of such a state */
    uint32_t flows, batch;
    uint32_t begun;         /* the last queue that was used for the first time; each tells of the one before */
    uint32_t listed;        /* how many wait for their turn */
    int64_t quantum, memory_limit;
    pi2_turns young, old;   /* queues that have just become busy, which go first, and the others */
} pi2_flow_queues;

/* 0 if the parameters are none that can be, or there is no memory. */
int pi2_flow_queues_setup(pi2_flow_queues *of, const pi2_qdisc *inner, const pi2_flow_queues_given *given,
                          const void *inner_parameters, const pi2_queue *queue);
/* Entries of the table of such a discipline, whose block is the above. */
void pi2_flow_queues_enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws);
int pi2_flow_queues_dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws);
int64_t pi2_flow_queues_first_tick(const void *qdisc);
int64_t pi2_flow_queues_tick(void *qdisc, pi2_queue *queue, int64_t now);
void pi2_flow_queues_probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe);
const pi2_band *pi2_flow_queues_waiting(const void *qdisc, uint32_t number);
void pi2_flow_queues_close(void *qdisc);
