/* Queue disciplines: what a queue does with each packet, one algorithm per file (NAME.c). Pure C11.
 *
 * A discipline is a table of functions. It is configured by a struct of doubles, its parameters, whose fields are
 * listed at the top of its file; whatever it computes from them and its variables live in one block of `size` bytes
 * that the caller provides. Time is in ns. No function allocates but of those that have a `close`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "parameters.h"
#include "packet/core/random.h"
#include "packet/core/time.h"
#include "packet/queues/queue.h"

enum { PI2_QDISC_PARAMETERS = 32 };

/* What is reported of a discipline's state. */
typedef struct {
    double controller; /* its own variable */
    double classic;    /* probability that a Classic packet is signalled */
    double scalable;   /* the same for a Scalable one, its band's own marking left out */
} pi2_probe;

typedef struct {
    const char *name;
    size_t size;
    int parameters;           /* how many doubles it is configured by */
    const char *const *names; /* of them */
    int bands;

    /* Sets the block up for an empty queue at time 0; 0 if the parameters are not what they can be. */
    int (*setup)(void *qdisc, const void *parameters, const pi2_queue *queue);
    /* A packet arrives: it is pushed into the queue (marked perhaps) or dropped. PI2_SENT was counted already. */
    void (*enqueue)(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws);
    /* The link takes a packet: fills `packet` and returns 1, or returns 0 if there is none left after drops. */
    int (*dequeue)(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws);
    /* When the first tick comes; PI2_NEVER, or no function: none does. */
    int64_t (*first_tick)(const void *qdisc);
    /* The timer expired: updates, and returns when the next tick comes. NULL if first_tick is never. */
    int64_t (*tick)(void *qdisc, pi2_queue *queue, int64_t now);
    void (*probe)(const void *qdisc, const pi2_queue *queue, pi2_probe *probe);
    /* Adds to the controller's variable, before a tick; NULL if nobody but the discipline moves it. */
    void (*push)(void *qdisc, double amount);
    /* So many packets were lost from the head of its queue to make room for others; NULL: it does not care. */
    void (*made_room)(void *qdisc, uint32_t packets);
    /* Band number `number` of those in which its packets wait, NULL behind the last; NULL: those of its queue. */
    const pi2_band *(*waiting)(const void *qdisc, uint32_t number);
    /* Frees what it allocated; NULL: nothing. */
    void (*close)(void *qdisc);
} pi2_qdisc;

#define PI2_QDISC(name) extern const pi2_qdisc pi2_qdisc_##name;
#include "laws.def"

/* The discipline of that name, NULL if there is none (in qdiscs.c). */
const pi2_qdisc *pi2_find_qdisc(const char *name);

/* Whether a discipline marks a packet with that ECN field instead of dropping it, if it marks at all: what is Not-ECT
 * has to be dropped then (RFC 3168, section 5). */
static inline int pi2_can_be_marked(int marks, int ecn)
{
    return marks && ecn != PI2_NOT_ECT;
}

/* 0 and a packet lost at the tail if the queue is full. */
static inline int pi2_queue_has_room(pi2_queue *queue, const pi2_packet *packet, int64_t now)
{
    if (pi2_queue_packets(queue) < queue->limit)
        return 1;
    pi2_queue_drop(queue, packet, now, PI2_DROP_FULL);
    return 0;
}

/* The entries of a discipline that lets in what fits, and of one that lets go what is next (in qdiscs.c). */
void pi2_push_if_room(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws);
int pi2_take_head(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws);

/* Band number `number` of those in which packets wait, NULL behind the last. */
static inline const pi2_band *pi2_waiting(const pi2_qdisc *discipline, const void *qdisc, const pi2_queue *queue,
                                          uint32_t number)
{
    if (discipline->waiting)
        return discipline->waiting(qdisc, number);
    return number < (uint32_t)queue->bands ? queue->band + number : NULL;
}

/* When the first tick comes. */
static inline int64_t pi2_first_tick(const pi2_qdisc *discipline, const void *qdisc)
{
    return discipline->first_tick ? discipline->first_tick(qdisc) : PI2_NEVER;
}
