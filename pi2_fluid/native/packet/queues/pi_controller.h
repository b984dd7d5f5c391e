/* The PI controller that the queue disciplines pi, pi2 and coupled share: where the delay comes from, how p' is
 * updated, and what a packet goes through. They differ in the law, and in how a packet is judged.
 * PI2 paper (CoNEXT'16), sections 4 and 5; Linux 6.18, net/sched/sch_dualpi2.c; github.com/olgabo/dualpi2, sch_pi2. */
#pragma once

#include "packet/controllers/pi_family.h"
#include "packet/queues/dualpi2_update.h"
#include "packet/queues/pi2_update.h"
#include "packet/queues/qdisc.h"
#include "packet/queues/rate_estimator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parameters of the three: those of the coupled law, of which the others use less (integers of 2016: the gains act
 * on k p', and k is whole), and what packets need beside them. */
#define PI2_PI_QDISC_OWN(F) \
    F(first_update) /* s, when the timer first expires */ \
    F(arithmetic)   /* PI2_REAL, PI2_DUALPI2, PI2_2016 */ \
    F(quirks)       /* 1: overflows as in the kernel */ \
    F(delay_from)   /* PI2_HEAD, PI2_RATE, PI2_LENGTH */ \
    F(per_packet)   /* s that a queued packet counts for, with PI2_LENGTH */ \
    F(decay)        /* factor on p' at each update of an idle queue, 1: none (integers of 2016: 0.98) */ \
    F(ecn)          /* 1: Classic packets that can be marked are marked, not dropped */ \
    F(at_dequeue)   /* 1: packets are judged as they leave, not as they arrive */
#define PI2_PI_QDISC_FIELDS(F) PI2_COUPLED_FIELDS(F) PI2_PI_QDISC_OWN(F)

typedef struct {
    pi2_coupled law;
    PI2_PI_QDISC_OWN(PI2_FIELD)
} pi2_pi_parameters;

enum { PI2_REAL, PI2_DUALPI2, PI2_2016 }; /* real numbers, integers of sch_dualpi2, those of sch_pi2 of 2016 */
enum { PI2_HEAD, PI2_RATE, PI2_LENGTH };  /* delay: age of the head, backlog over departure rate, from the length */
enum { PI2_PASS, PI2_MARK, PI2_DROP };    /* verdicts */

typedef struct {
    /* what a packet meets first */
    uint64_t linear;   /* a draw below this is a hit of probability p' ... */
    uint64_t scalable; /* ... and one of min(k p', 1) */
    int64_t floor;     /* bytes: a shorter queue is left alone */
    int ecn, at_dequeue, delay_from;
    /* the rest of the parameters */
    int arithmetic, shift; /* a time of t ns is t >> shift ticks */
    uint32_t k;            /* integers of 2016 */
    pi2_pi_parameters parameters;
    pi2_encoder *encode;
    pi2_pi_ns_params ns_params;
    pi2_2016_params params_2016;
    pi2_rate_params rate_params;
    int64_t interval, first; /* ns */
    /* variables */
    double state[PI2_PI_STATES];
    pi2_pi_ns_vars ns;
    pi2_2016_vars vars_2016;
    pi2_rate_vars rate;
} pi2_controller;

/* The entries of a discipline's table; 0 if the parameters are not what they can be. */
int pi2_controller_setup(pi2_controller *c, const void *parameters, const pi2_queue *queue, pi2_encoder *encode);
int64_t pi2_controller_first_tick(const void *qdisc);
int64_t pi2_controller_tick(void *qdisc, pi2_queue *queue, int64_t now);
void pi2_controller_probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe);

void pi2_controller_push(void *qdisc, double amount);

/* What a tick does with a delay of `delay` ns; `backlog` tells whether packets wait. */
void pi2_controller_sample(pi2_controller *c, int64_t delay, int backlog);

/* p' as a number, and in the kernel's units (2016: k p'; real numbers: 0). */
double pi2_controller_u(const pi2_controller *c);
uint32_t pi2_controller_raw(const pi2_controller *c);
/* Holds p', and the delay (ns) at the last tick, until the next. */
void pi2_controller_hold(pi2_controller *c, double u, int64_t delay);

/* The verdict of the discipline coupled on a packet with that ECN field (in coupled.c). */
int pi2_coupled_judge(const pi2_controller *c, int ecn, pi2_draws *draws);

#ifdef __cplusplus
}
#endif

typedef int (*pi2_judge)(const pi2_controller *c, int ecn, pi2_draws *draws);

/* Signals by loss where a packet cannot be marked. */
static inline int pi2_classic_verdict(const pi2_controller *c, int ecn)
{
    return pi2_can_be_marked(c->ecn, ecn) ? PI2_MARK : PI2_DROP;
}

/* Signals with p'^2. The second number is drawn only after a hit of the first, as in the kernels. */
static inline int pi2_two_draws(const pi2_controller *c, int ecn, pi2_draws *draws)
{
    if (pi2_draw(draws, 0) >= c->linear || pi2_draw(draws, 1) >= c->linear)
        return PI2_PASS;
    return pi2_classic_verdict(c, ecn);
}

/* 0 if the packet is lost. `backlog` is the queue without it. The judge is known when this is compiled. */
static inline int pi2_controller_admit(const pi2_controller *c, pi2_queue *queue, pi2_packet *packet,
                                       int64_t backlog, int64_t now, pi2_draws *draws, pi2_judge judge)
{
    if (backlog < c->floor)
        return 1;
    switch (judge(c, packet->ecn, draws)) {
    case PI2_DROP:
        pi2_queue_drop(queue, packet, now, PI2_DROP_AQM);
        return 0;
    case PI2_MARK:
        pi2_queue_mark(queue, packet, PI2_MARK_AQM);
        return 1;
    default:
        return 1;
    }
}

static inline void pi2_controller_enqueue(const pi2_controller *c, pi2_queue *queue, pi2_packet *packet, int64_t now,
                                          pi2_draws *draws, pi2_judge judge)
{
    if (!pi2_queue_has_room(queue, packet, now))
        return;
    if (c->at_dequeue || pi2_controller_admit(c, queue, packet, pi2_queue_bytes(queue), now, draws, judge))
        pi2_queue_push(queue, PI2_C, packet, now);
}

static inline int pi2_controller_dequeue(pi2_controller *c, pi2_queue *queue, pi2_packet *packet, int64_t now,
                                         pi2_draws *draws, pi2_judge judge)
{
    while (queue->band[PI2_C].count) {
        pi2_queue_pop(queue, PI2_C, packet);
        if (c->at_dequeue) {
            draws->index++;
            if (!pi2_controller_admit(c, queue, packet, pi2_queue_bytes(queue), now, draws, judge))
                continue;
        }
        if (c->delay_from == PI2_RATE)
            pi2_rate_leave(&c->rate_params, &c->rate, packet->bytes, pi2_queue_bytes(queue), now >> c->shift);
        return 1;
    }
    return 0;
}

/* The queue discipline of that name, whose controller is the law of that name: functions of its own, so that the judge
 * is known when they are compiled. */
#define PI2_PI_QDISC(law, judge)                                                                                      \
    static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)                                     \
    {                                                                                                                 \
        return pi2_controller_setup(qdisc, parameters, queue, pi2_encode_##law);                                 \
    }                                                                                                                 \
    static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)             \
    {                                                                                                                 \
        pi2_controller_enqueue(qdisc, queue, packet, now, draws, judge);                                              \
    }                                                                                                                 \
    static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)              \
    {                                                                                                                 \
        return pi2_controller_dequeue(qdisc, queue, packet, now, draws, judge);                                       \
    }                                                                                                                 \
    const pi2_qdisc pi2_qdisc_##law = {                                                                               \
        .name = #law,                                                                                                 \
        .size = sizeof(pi2_controller),                                                                               \
        PI2_CONFIGURED_BY(PI2_PI_QDISC_FIELDS),                                                                       \
        .bands = 1,                                                                                                   \
        .setup = setup,                                                                                               \
        .enqueue = enqueue,                                                                                           \
        .dequeue = dequeue,                                                                                           \
        .first_tick = pi2_controller_first_tick,                                                                      \
        .tick = pi2_controller_tick,                                                                                  \
        .probe = pi2_controller_probe,                                                                                \
        .push = pi2_controller_push,                                                                                  \
    }
