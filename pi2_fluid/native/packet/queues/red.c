/* RED: every arriving packet moves an average of the queue, and a profile of the average says how many packets are to
 * be signalled. They are spaced: the distance between two is drawn once, at the first of them.
 *
 * "fixed" are the kernel's integers: the average in bytes with as many fractional bits as the weight 2^-n has, max_p
 * in 1/2^32, its adaptation by integer division. "real" is the law of the fluid model with an average in double
 * precision, any weight, gentle or not.
 *
 * Sources: Floyd, Jacobson (1993); Floyd, Gummadi, Shenker, "Adaptive RED" (2001); Linux 6.18, red.h and sch_red; for
 * the spacing called "wait", ns-2 and ns-3. What can be marked is marked above max, too, unless "harddrop" asks to drop
 * it there, as RFC 3168, section 7, advises. What cannot be marked passes with "nodrop". Switches have a second ramp for
 * what can be marked; one average serves both, and each spaces its own signals.
 */
#include <math.h>
#include <string.h>

#include "packet/controllers/red.h"
#include "packet/queues/qdisc.h"
#include "packet/queues/red.h"

/* The parameters: those of the real-valued law, in packets of the queue's mtu (integers: weight is 2^-n, gentle 0), and
 * what packets need beside them. */
#define OWN(F) \
    F(ecn)        /* 1: signalled packets are marked if they can be */ \
    F(harddrop)   /* 1: but dropped where the profile is 1 */ \
    F(nodrop)     /* 1: what cannot be marked passes instead of being dropped, unless "harddrop" drops all */ \
    F(packets)    /* 1: the backlog is packets, whatever their size; 0: bytes, in full packets */ \
    F(mark_min)   /* packets: a second ramp, for what can be marked; 0: there is one for all */ \
    F(mark_max)   /* packets, from which all are marked */ \
    F(mark_max_p) /* probability at mark_max */ \
    F(fixed)      /* 1: the kernel's integers */ \
    F(idle_decay) /* 1: the average decays while the link is idle */ \
    F(spacing)    /* packets from one signal to the next, with p of the profile; see below */
#define FIELDS(F) PI2_RED_FIELDS(F) OWN(F)

typedef struct {
    pi2_red law;
    OWN(PI2_FIELD)
} given;

enum {
    UNIFORM, /* uniform on 0 .. 1/p (Linux; ns without "wait") */
    WAIT,    /* uniform on 1/p .. 2/p (ns-2, ns-3) */
    ALONE,   /* none: every packet is drawn for by itself */
};

enum { AVERAGE = PI2_RED_AVERAGE, HIGHEST_P = PI2_RED_MAX_P };

/* The idle decay of the kernel, a table of shifts that user space computes: index and largest shift. */
enum { CELLS = 256, LARGEST_SHIFT = 31, CELL_BITS = 32 };

#define ONE_PERCENT UINT32_C(42949673) /* of 2^32, rounded */

typedef struct {
    pi2_red law;
    double per_byte;           /* packets */
    double log_keep;           /* log(1 - weight) */
    double packet_time;        /* ns to send a full packet */
    double offset;             /* of the spacing, in 1/p */
    int64_t interval;          /* ns */
    int64_t low, high;         /* bytes times 2^shift: min and max */
    int64_t band[2];           /* bytes: where the average is to be */
    uint32_t span;             /* bytes: max - min, at least 1 */
    int shift;                 /* weight = 2^-shift */
    int cell_shift;            /* a cell of the idle table is 2^cell_shift us */
    uint8_t decay[CELLS];      /* shift of the average after so many cells */
    pi2_red mark;              /* the second ramp, if there is one */
    uint8_t ecn, harddrop, nodrop, packets, fixed, idle_decay, alone, two_ramps;
} red_parameters;

/* How far the next signal is. */
typedef struct {
    double reach;                 /* real: count p at which it is due */
    int64_t count;                /* packets since the last signal; -1: none is being counted */
} red_spacing;

typedef struct {
    double state[PI2_RED_STATES]; /* of the real-valued law */
    red_spacing all, mark;        /* of the first ramp; of the second */
    int64_t average;              /* fixed: bytes times 2^shift */
    int64_t gap;                  /* fixed: bytes times packets; (average - min) count at which it is due */
    int64_t idle_since;           /* ns; PI2_NEVER: the link is busy */
    uint32_t max_p;               /* fixed: 1/2^32 */
    uint32_t per_gap;             /* fixed: max_p / span, at least 1 */
} red_variables;

typedef struct {
    red_parameters params;
    red_variables vars;
} red;

/* The average */

/* After idling the kernel shifts by the table, or, within its first cells, takes off a share, at most half. */
static int64_t decayed(const red_parameters *p, int64_t average, int64_t idle)
{
    const int64_t longest = (int64_t)(CELLS - 1) << p->cell_shift;
    const int64_t us = idle / 1000 < longest ? idle / 1000 : longest;
    const int shift = p->decay[us >> p->cell_shift];
    const int64_t share = (int64_t)(((uint64_t)average * (uint64_t)us) >> p->cell_shift);
    if (shift)
        return average >> shift;
    return share < average / 2 ? average - share : average / 2;
}

static void decay(red *r, int64_t idle)
{
    const red_parameters *p = &r->params;
    if (p->fixed)
        r->vars.average = decayed(p, r->vars.average, idle);
    else
        r->vars.state[AVERAGE] *= exp(p->log_keep * (double)idle / p->packet_time);
}

/* The packet that finds `backlog` bytes moves the average; the first one after idling lets it decay instead. */
static void average(red *r, int64_t backlog, int64_t now)
{
    red_variables *v = &r->vars;
    const int64_t idle = v->idle_since == PI2_NEVER ? 0 : now - v->idle_since;
    v->idle_since = PI2_NEVER;
    if (idle > 0)
        decay(r, idle);
    else if (r->params.fixed)
        v->average += backlog - (v->average >> r->params.shift);
    else
        v->state[AVERAGE] += r->params.law.weight * ((double)backlog * r->params.per_byte - v->state[AVERAGE]);
}

/* The judgement of one packet */

static int judge_fixed(red *r, pi2_draws *draws)
{
    const red_parameters *p = &r->params;
    red_variables *v = &r->vars;
    const int64_t above = v->average - p->low;
    if (above < 0 || v->average >= p->high) {
        v->all.count = -1;
        return above < 0 ? PI2_RED_PASS : PI2_RED_FORCED;
    }
    v->all.count++;
    if (v->all.count && (above >> p->shift) * v->all.count < v->gap)
        return PI2_RED_PASS;
    v->gap = (int64_t)((pi2_draw(draws, 0) >> 32) / v->per_gap);
    if (!v->all.count) /* the first above min only draws */
        return PI2_RED_PASS;
    v->all.count = 0;
    return PI2_RED_EARLY;
}

static double uniform(pi2_draws *draws)
{
    return pi2_unit(pi2_draw(draws, 0));
}

static int judge_real(const red_parameters *params, double p, red_spacing *s, pi2_draws *draws)
{
    if (p == 0.0 || p >= 1.0) {
        s->count = -1;
        return p == 0.0 ? PI2_RED_PASS : PI2_RED_FORCED;
    }
    s->count++;
    if (params->alone)
        return uniform(draws) < p ? PI2_RED_EARLY : PI2_RED_PASS;
    if (s->count && (double)s->count * p < s->reach)
        return PI2_RED_PASS;
    s->reach = params->offset + uniform(draws);
    if (!s->count)
        return PI2_RED_PASS;
    s->count = 0;
    return PI2_RED_EARLY;
}

static double profile(const red *r)
{
    return pi2_red_signalled(&r->params.law, r->vars.state);
}

int pi2_red_judge(void *qdisc, int64_t backlog, int64_t now, pi2_draws *draws)
{
    red *r = qdisc;
    average(r, backlog, now);
    return r->params.fixed ? judge_fixed(r, draws) : judge_real(&r->params, profile(r), &r->vars.all, draws);
}

/* The second ramp at the average. */
static double marked(const red *r)
{
    const double state[PI2_RED_STATES] = {r->vars.state[AVERAGE], r->params.mark.max_p};
    return pi2_red_signalled(&r->params.mark, state);
}

/* Of a packet that can be marked, where such packets have a ramp of their own. Where the first one is 1 "harddrop" asks
 * for drops, whatever was drawn. */
static int judge_markable(red *r, int64_t backlog, int64_t now, pi2_draws *draws)
{
    int verdict;
    average(r, backlog, now);
    verdict = judge_real(&r->params, marked(r), &r->vars.mark, draws);
    if (r->params.harddrop && profile(r) >= 1.0)
        return PI2_RED_FORCED;
    return verdict == PI2_RED_PASS ? PI2_RED_PASS : PI2_RED_EARLY;
}

/* Packets */

/* The kernel's limit is bytes, those of so many full packets. 0 and a packet lost at the tail if it does not fit. */
static int holds(pi2_queue *queue, const pi2_packet *packet, int64_t now)
{
    if (queue->band[PI2_C].bytes + packet->bytes <= queue->limit * queue->mtu)
        return 1;
    pi2_queue_drop(queue, packet, now, PI2_DROP_FULL);
    return 0;
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    red *r = qdisc;
    const pi2_band *band = queue->band + PI2_C;
    const int64_t backlog = r->params.packets ? band->count * queue->mtu : band->bytes;
    const int capable = pi2_can_be_marked(r->params.ecn, packet->ecn);
    const int verdict = capable && r->params.two_ramps ? judge_markable(r, backlog, now, draws)
                                                       : pi2_red_judge(r, backlog, now, draws);
    const int hard = verdict == PI2_RED_FORCED && r->params.harddrop;
    if (verdict != PI2_RED_PASS && (hard || !(capable || r->params.nodrop))) {
        pi2_queue_drop(queue, packet, now, capable ? PI2_DROP_OVERLOAD : PI2_DROP_AQM);
        return;
    }
    if (!(r->params.fixed ? holds(queue, packet, now) : pi2_queue_has_room(queue, packet, now)))
        return;
    if (verdict != PI2_RED_PASS && capable)
        pi2_queue_mark(queue, packet, PI2_MARK_AQM);
    pi2_queue_push(queue, PI2_C, packet, now);
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    red *r = qdisc;
    (void)draws;
    if (!queue->band[PI2_C].count)
        return 0;
    pi2_queue_pop(queue, PI2_C, packet);
    if (r->params.idle_decay && !queue->band[PI2_C].count) /* idle as soon as this one is sent */
        r->vars.idle_since = now + (int64_t)(8e9 * packet->bytes / queue->capacity);
    return 1;
}

/* The adaptation */

static void set_max_p(red *r, uint32_t max_p)
{
    const uint32_t per_gap = max_p / r->params.span;
    r->vars.max_p = max_p;
    r->vars.per_gap = per_gap ? per_gap : 1;
}

/* Adaptive RED (2001), section IV-A: max_p between 1 % and 50 %, up by a quarter or 1 %, down by a tenth. */
static void adapt_fixed(red *r)
{
    const int64_t mean = r->vars.average >> r->params.shift;
    const uint32_t max_p = r->vars.max_p, quarter = max_p / 4;
    if (mean > r->params.band[1] && max_p <= 50 * ONE_PERCENT)
        set_max_p(r, max_p + (quarter < ONE_PERCENT ? quarter : ONE_PERCENT));
    else if (mean < r->params.band[0] && max_p >= ONE_PERCENT)
        set_max_p(r, max_p / 10 * 9);
}

static int64_t tick(void *qdisc, pi2_queue *queue, int64_t now)
{
    red *r = qdisc;
    (void)queue;
    if (r->params.fixed) {
        adapt_fixed(r);
    } else {
        if (r->params.law.adaptive != 0.0)
            r->vars.state[HIGHEST_P] = pi2_red_adapted(&r->params.law, r->vars.state);
    }
    return now + r->params.interval;
}

static int64_t first_tick(const void *qdisc)
{
    return ((const red *)qdisc)->params.interval;
}

/* What can be seen of it */

void pi2_red_look(const void *qdisc, pi2_red_view *view)
{
    const red *r = qdisc;
    const red_parameters *p = &r->params;
    const double scale = p->fixed ? ldexp(1.0, -p->shift) : 1.0 / p->per_byte;
    double state[PI2_RED_STATES] = {r->vars.state[AVERAGE], r->vars.state[HIGHEST_P]};
    if (p->fixed) {
        state[AVERAGE] = (double)r->vars.average * scale * p->per_byte;
        state[HIGHEST_P] = ldexp((double)r->vars.max_p, -32);
    }
    view->average = p->fixed ? (double)r->vars.average * scale : state[AVERAGE] * scale;
    view->p = pi2_red_signalled(&p->law, state);
    view->max_p = state[HIGHEST_P];
    view->count = r->vars.all.count;
}

static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    pi2_red_view view;
    (void)queue;
    pi2_red_look(qdisc, &view);
    probe->controller = probe->classic = probe->scalable = view.p;
    if (((const red *)qdisc)->params.two_ramps)
        probe->scalable = marked((const red *)qdisc);
}

void pi2_red_idle_since(void *qdisc, int64_t since)
{
    red *r = qdisc;
    if (r->params.idle_decay)
        r->vars.idle_since = since;
}

void pi2_red_hold(void *qdisc, double bytes)
{
    red *r = qdisc;
    r->vars.average = (int64_t)ldexp(bytes, r->params.shift);
    r->vars.state[AVERAGE] = bytes * r->params.per_byte;
}

/* Setting up */

/* n of 2^-n, -1 if it is none such. */
static int shift_of(double weight)
{
    for (int n = 0; n <= LARGEST_SHIFT; n++)
        if (weight == ldexp(1.0, -n))
            return n;
    return -1;
}

static int sound(const given *x, double mtu)
{
    const pi2_red *p = &x->law;
    const int profile = p->min > 0.0 && p->max >= p->min && p->max * mtu < 1e9 && p->max_p > 0.0 && p->max_p <= 1.0
                        && p->weight > 0.0 && p->weight <= 1.0;
    const int fixed = x->fixed == 0.0
                      || (shift_of(p->weight) >= 0 && p->gentle == 0.0 && x->spacing == UNIFORM
                          && (p->max == p->min || p->max * mtu - p->min * mtu >= 1.0));
    const int spacing = x->spacing == UNIFORM || x->spacing == WAIT || x->spacing == ALONE;
    const int ramps = x->mark_min == 0.0
                      || (x->ecn != 0.0 && x->fixed == 0.0 && x->mark_min > 0.0 && x->mark_max >= x->mark_min
                          && x->mark_max * mtu < 1e9 && x->mark_max_p > 0.0 && x->mark_max_p <= 1.0);
    return profile && fixed && spacing && ramps && (x->nodrop == 0.0 || x->ecn != 0.0) && (p->adaptive == 0.0 || p->update_interval >= 1e-9);
}

/* The table as user space fills it: a shift for every 1/-log(1 - weight) packets that could have been sent, although
 * they divide the average by e and a shift by 2; cells as short as let some 512 of them reach the largest shift. */
static void set_decay(red_parameters *p)
{
    const double rate = -1e3 * p->log_keep / p->packet_time; /* shifts per us */
    int bits;
    frexp(LARGEST_SHIFT / rate / (2 * CELLS), &bits);
    p->cell_shift = bits < 0 ? 0 : bits < CELL_BITS ? bits : CELL_BITS - 1;
    for (int i = 0; i < CELLS; i++) {
        const double shift = ldexp(i, p->cell_shift) * rate;
        p->decay[i] = shift < LARGEST_SHIFT && i < CELLS - 1 ? (uint8_t)shift : LARGEST_SHIFT;
    }
}

static void set_fixed(red *r, const pi2_red *x, double mtu)
{
    red_parameters *p = &r->params;
    const int64_t low = (int64_t)(x->min * mtu + 0.5), high = (int64_t)(x->max * mtu + 0.5);
    p->shift = shift_of(x->weight);
    p->span = (uint32_t)(high > low ? high - low : 1);
    p->low = low << p->shift;
    p->high = high << p->shift;
    p->band[0] = low + 2 * (p->span / 5);
    p->band[1] = low + 3 * (p->span / 5);
    set_max_p(r, x->max_p < 1.0 ? (uint32_t)(x->max_p * 0x1p32) : UINT32_MAX);
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    red *r = qdisc;
    const given *x = parameters;
    red_parameters *p = &r->params;
    const double mtu = (double)queue->mtu;
    if (!sound(x, mtu) || !(mtu >= 1.0 && queue->capacity > 0.0))
        return 0;
    memset(r, 0, sizeof *r);
    p->law = x->law;
    p->per_byte = 1.0 / mtu;
    p->log_keep = log1p(-p->law.weight);
    p->packet_time = 8e9 * mtu / queue->capacity;
    p->offset = x->spacing == WAIT ? 1.0 : 0.0;
    p->alone = x->spacing == ALONE;
    p->interval = p->law.adaptive != 0.0 && p->law.update_interval < 1e9 ? pi2_ns(p->law.update_interval) : PI2_NEVER;
    p->ecn = x->ecn != 0.0;
    p->harddrop = x->harddrop != 0.0;
    p->nodrop = x->nodrop != 0.0;
    p->packets = x->packets != 0.0;
    p->two_ramps = x->mark_min > 0.0;
    p->mark = (pi2_red){.min = x->mark_min, .max = x->mark_max, .max_p = x->mark_max_p};
    p->fixed = x->fixed != 0.0;
    p->idle_decay = x->idle_decay != 0.0;
    if (p->fixed) {
        set_fixed(r, &p->law, mtu);
        set_decay(p);
    }
    r->vars.state[AVERAGE] = 0.0;
    r->vars.state[HIGHEST_P] = p->law.max_p;
    r->vars.all.count = r->vars.mark.count = -1;
    r->vars.idle_since = PI2_NEVER;
    return 1;
}

const pi2_qdisc pi2_qdisc_red = {
    .name = "red",
    .size = sizeof(red),
    PI2_CONFIGURED_BY(FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .first_tick = first_tick,
    .tick = tick,
    .probe = probe,
};
