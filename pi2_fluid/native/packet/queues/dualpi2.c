/* DualPI2: a Classic and an L4S queue behind one PI controller of the delay. Its variable p' is a 32-bit fraction;
 * Classic packets are signalled when two draws in a row lie within p', L4S ones when one lies within k p', or when
 * they have waited longer than a step. The link is shared by a weighted round robin over bytes.
 *
 * p' moves by the integers of the kernel ("fixed") or by the law of the fluid model, rounded to the same 32 bits
 * ("real"): what happens to packets is the same code.
 *
 * Sources: RFC 9332, sections 2 and 4 and Appendix A; Linux 6.18, sch_dualpi2. Where they differ (which delay drives
 * the controller, step or ramp) the parameters choose. Left out: splitting of aggregates, the limit on memory, the
 * step in packets, filters that send other packets to L than ECT(1) and CE.
 */
#include <math.h>
#include <string.h>

#include "packet/controllers/dualpi2.h"
#include "packet/queues/dualpi2_update.h"
#include "packet/queues/qdisc.h"
#include "packet/queues/dualpi2.h"

/* The parameters: those of the real-valued law (k is whole in the kernel, c_protection is rounded to whole percent), and
 * what packets need beside them. */
#define OWN(F) \
    F(drop_overload)    /* 1: k p' may exceed 1, and L packets are dropped then; 0: p' stays at or below 1/k */ \
    F(at_enqueue)       /* 1: packets are judged on arrival; 0: on departure */ \
    F(min_step_packets) /* packets of L that must wait at an arrival for the step to mark it */ \
    F(fixed)            /* 1: p' moves by the kernel's integers */ \
    F(quirks)           /* 1: a change of p' by 1 or more wraps around, as in the kernel; fixed only */ \
    F(first_update)     /* s: when the first update comes */
#define FIELDS(F) PI2_DUALPI2_FIELDS(F) OWN(F)

typedef struct {
    pi2_dualpi2 law;
    OWN(PI2_FIELD)
} given;

enum { PASS = -1 };

#define FULL UINT32_MAX /* p' = 1 */

typedef struct {
    pi2_dualpi2 law;
    double k;
    pi2_pi_ns_params controller;  /* of the integers */
    int64_t step;                 /* ns */
    int64_t interval, first;      /* ns */
    int64_t ramp_from, ramp_to;   /* ns, of an L packet's delay */
    double ramp_slope;            /* 1/2^32 per ns */
    int64_t weight[2];            /* percent of the link: of C, of L */
    int64_t fresh_credit;         /* bytes times percent, when both bands are empty */
    int64_t floor;                /* bytes of backlog below which nothing but the step signals */
    int64_t min_step;             /* packets */
    uint8_t fixed, classic_drives, drop_overload, at_enqueue, ramp;
} dualpi2_parameters;

typedef struct {
    double state[PI2_PI_STATES]; /* of the real-valued law */
    int64_t credit;               /* bytes times percent */
    pi2_pi_ns_vars controller;    /* p', and the delay before (of the integers) */
    uint32_t coupled;             /* k p', at most 1 */
    int overload;                 /* k p' > 1 */
} dualpi2_variables;

typedef struct {
    dualpi2_parameters params;
    dualpi2_variables vars;
} dualpi2;

/* The controller */

static void set_base(dualpi2 *d, uint32_t base)
{
    const double coupled = d->params.k * base;
    d->vars.controller.p = base;
    d->vars.overload = coupled > (double)FULL;
    d->vars.coupled = d->vars.overload ? FULL : (uint32_t)coupled;
}

void pi2_dualpi2_hold(void *qdisc, uint32_t base)
{
    set_base(qdisc, base);
}

uint32_t pi2_dualpi2_base(const void *qdisc)
{
    return ((const dualpi2 *)qdisc)->vars.controller.p;
}

int64_t pi2_dualpi2_credit(const void *qdisc)
{
    return ((const dualpi2 *)qdisc)->vars.credit;
}

static void real_update(dualpi2 *d, int64_t delay)
{
    double after[PI2_PI_STATES];
    const pi2_pi_family *pi = &d->params.law.coupled.pi;
    pi2_pi_update(pi, d->vars.state, 1e-9 * (double)delay, after);
    pi2_pi_saturate(pi, after);
    memcpy(d->vars.state, after, sizeof after);
    d->vars.controller.p = (uint32_t)(after[0] * (double)FULL + 0.5);
}

static int64_t tick(void *qdisc, pi2_queue *queue, int64_t now)
{
    dualpi2 *d = qdisc;
    const int64_t delay[2] = {pi2_band_age(&queue->band[PI2_C], now), pi2_band_age(&queue->band[PI2_L], now)};
    const int64_t driving = !d->params.classic_drives && delay[PI2_L] > delay[PI2_C] ? delay[PI2_L] : delay[PI2_C];
    const uint32_t limit = d->params.controller.limit;
    if (d->params.fixed)
        pi2_pi_ns_update(&d->params.controller, &d->vars.controller, driving);
    else
        real_update(d, driving);
    set_base(d, d->vars.controller.p < limit ? d->vars.controller.p : limit);
    return now + d->params.interval;
}

static void push(void *qdisc, double amount)
{
    ((dualpi2 *)qdisc)->vars.state[PI2_U] += amount; /* of the law: integers are not pushed */
}

static int64_t first_tick(const void *qdisc)
{
    return ((const dualpi2 *)qdisc)->params.first;
}

/* The judgement of one packet: PASS, or what becomes of it */

static int roll(pi2_draws *draws, int which, uint32_t probability)
{
    return (uint32_t)(pi2_draw(draws, which) >> 32) <= probability;
}

static int rolls_twice(const dualpi2 *d, pi2_draws *draws)
{
    return roll(draws, 0, d->vars.controller.p) && roll(draws, 1, d->vars.controller.p);
}

static int judge(const dualpi2 *d, const pi2_queue *queue, int band, const pi2_packet *packet, pi2_draws *draws)
{
    if (pi2_queue_bytes(queue) < d->params.floor)
        return PASS;
    if (band == PI2_C) {
        if (!rolls_twice(d, draws))
            return PASS;
        if (packet->ecn == PI2_NOT_ECT)
            return PI2_DROP_AQM;
        return d->vars.overload ? PI2_DROP_OVERLOAD : PI2_MARK_AQM;
    }
    if (d->vars.overload)
        return d->params.drop_overload && rolls_twice(d, draws) ? PI2_DROP_OVERLOAD : PI2_MARK_AQM;
    if (d->params.ramp) /* one draw is to decide on the larger of ramp and k p', which the departure will tell */
        return PASS;
    return roll(draws, 0, d->vars.coupled) ? PI2_MARK_AQM : PASS;
}

/* 0 if the packet is dropped. Each mark is counted once: what the controller has marked, the step leaves alone. */
static int carry_out(pi2_queue *queue, pi2_packet *packet, int64_t now, int verdict)
{
    if (verdict == PASS)
        return 1;
    if (verdict != PI2_MARK_AQM) {
        pi2_queue_drop(queue, packet, now, verdict);
        return 0;
    }
    packet->eligible = 0;
    pi2_queue_mark(queue, packet, verdict);
    return 1;
}

static void mark_on_ramp(const dualpi2 *d, pi2_queue *queue, pi2_packet *packet, int64_t waited, pi2_draws *draws)
{
    const dualpi2_parameters *p = &d->params;
    const uint32_t coupled = pi2_queue_bytes(queue) < p->floor ? 0 : d->vars.coupled;
    uint32_t native = 0;
    if (packet->eligible && waited > p->ramp_from)
        native = waited >= p->ramp_to ? FULL : (uint32_t)((double)(waited - p->ramp_from) * p->ramp_slope);
    if (native > coupled) {
        if (roll(draws, 0, native))
            pi2_queue_mark(queue, packet, PI2_MARK_STEP);
    } else if (coupled && roll(draws, 0, coupled)) {
        pi2_queue_mark(queue, packet, PI2_MARK_AQM);
    }
}

/* What L marks by itself, at departure. All its packets are ECN-capable. */
static void mark_native(const dualpi2 *d, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    const int64_t waited = now - packet->enqueued;
    if (d->params.ramp) {
        if (packet->ecn != PI2_CE)
            mark_on_ramp(d, queue, packet, waited, draws);
    } else if (packet->eligible && waited > d->params.step) {
        pi2_queue_mark(queue, packet, PI2_MARK_STEP);
    }
}

/* Packets */

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    const dualpi2 *d = qdisc;
    const int band = pi2_band_of(packet->ecn);
    if (!pi2_queue_has_room(queue, packet, now))
        return;
    packet->eligible = band == PI2_L && queue->band[PI2_L].count >= d->params.min_step;
    if (d->params.at_enqueue && !carry_out(queue, packet, now, judge(d, queue, band, packet, draws)))
        return;
    pi2_queue_push(queue, band, packet, now);
}

/* Whose turn it is, and what a byte of its costs C; -1: both are empty. */
static int choose(const dualpi2 *d, const pi2_queue *queue, int64_t *charge)
{
    const uint32_t classic = queue->band[PI2_C].count, l4s = queue->band[PI2_L].count;
    *charge = 0;
    if (l4s && (!classic || d->vars.credit <= 0)) {
        if (classic)
            *charge = d->params.weight[PI2_C];
        return PI2_L;
    }
    if (l4s)
        *charge = -d->params.weight[PI2_L];
    return classic ? PI2_C : -1;
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    dualpi2 *d = qdisc;
    int64_t charge;
    int band;
    while ((band = choose(d, queue, &charge)) >= 0) {
        pi2_queue_pop(queue, band, packet);
        if (!d->params.at_enqueue) {
            draws->index++; /* each packet has draws of its own, also after one that was dropped */
            if (!carry_out(queue, packet, now, judge(d, queue, band, packet, draws)))
                continue;
        }
        if (band == PI2_L)
            mark_native(d, queue, packet, now, draws);
        d->vars.credit += charge * packet->bytes;
        return 1;
    }
    d->vars.credit = d->params.fresh_credit;
    return 0;
}

static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    const dualpi2 *d = qdisc;
    const double base = (double)d->vars.controller.p / (double)FULL;
    (void)queue;
    probe->controller = base;
    probe->classic = base * base;
    probe->scalable = (double)d->vars.coupled / (double)FULL;
}

/* Setting up */

static int sound(const given *x)
{
    const pi2_dualpi2 *law = &x->law;
    const pi2_pi_family *pi = &law->coupled.pi;
    const double k = law->coupled.k;
    const int gains = pi->alpha >= 0.0 && pi->beta >= 0.0 && pi->alpha < 1e6 && pi->beta < 1e6;
    const int times = pi->target > 0.0 && pi->target < 1e3 && pi->update_interval >= 1e-9 && pi->update_interval < 1e6
                      && law->step > 0.0 && law->step < 1e6 && law->ramp >= 0.0 && law->ramp <= 2.0 * law->step
                      && x->first_update > 0.0 && x->first_update < 1e6;
    const int coupling = k > 0.0 && k < 1e6 && (x->fixed == 0.0 || (k == floor(k) && k <= 255.0));
    return gains && times && coupling && pi->limit > 0.0 && pi->limit <= 1.0 && law->c_protection >= 0.0
           && law->c_protection <= 1.0 && x->min_step_packets >= 0.0 && x->min_step_packets < 4e9;
}

static void set_times(dualpi2_parameters *p, const given *x)
{
    const pi2_dualpi2 *law = &x->law;
    p->controller.target = pi2_ns(law->coupled.pi.target);
    p->interval = pi2_ns(law->coupled.pi.update_interval);
    p->first = pi2_ns(x->first_update);
    p->step = pi2_ns(law->step);
    p->ramp = law->ramp > 0.0;
    p->ramp_from = pi2_ns(law->step - 0.5 * law->ramp);
    p->ramp_to = pi2_ns(law->step + 0.5 * law->ramp);
    p->ramp_slope = p->ramp ? (double)FULL / (double)(p->ramp_to - p->ramp_from) : 0.0;
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    dualpi2 *d = qdisc;
    dualpi2_parameters *p = &d->params;
    const given *x = parameters;
    const pi2_coupled *coupled = &x->law.coupled;
    if (!sound(x))
        return 0;
    memset(d, 0, sizeof *d);
    p->law = x->law;
    set_times(p, x);
    p->k = coupled->k;
    p->controller.alpha = pi2_pi_ns_gain(coupled->pi.alpha);
    p->controller.beta = pi2_pi_ns_gain(coupled->pi.beta);
    p->controller.limit = (uint32_t)(x->drop_overload != 0.0 || p->k < 1.0 ? (double)FULL : (double)FULL / p->k);
    p->weight[PI2_C] = (int64_t)(100.0 * x->law.c_protection + 0.5);
    p->weight[PI2_L] = 100 - p->weight[PI2_C];
    p->fresh_credit = queue->mtu * (p->weight[PI2_C] - p->weight[PI2_L]);
    p->floor = 2 * queue->mtu;
    p->min_step = (int64_t)x->min_step_packets;
    p->fixed = x->fixed != 0.0;
    p->controller.quirks = x->quirks != 0.0;
    p->classic_drives = x->law.classic_drives != 0.0;
    p->drop_overload = x->drop_overload != 0.0;
    p->at_enqueue = x->at_enqueue != 0.0;
    d->vars.credit = p->fresh_credit;
    pi2_pi_initial(d->vars.state);
    return 1;
}

const pi2_qdisc pi2_qdisc_dualpi2 = {
    .name = "dualpi2",
    .size = sizeof(dualpi2),
    PI2_CONFIGURED_BY(FIELDS),
    .bands = 2,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .first_tick = first_tick,
    .tick = tick,
    .probe = probe,
    .push = push,
};
