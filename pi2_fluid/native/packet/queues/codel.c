/* CoDel: as soon as every packet of an interval has waited longer than the target, signals one, and while that stays
 * so the next ones interval/sqrt(n) after one another. All at departure; the packet after a dropped one goes at once.
 *
 * In the kernel's integers ("fixed") time is counted in 1.024 us and 1/sqrt(n) follows n by one Newton step each, so
 * that the second signal comes after half an interval; "real" counts ns and takes the square root.
 *
 * Sources: RFC 8289; Nichols, Jacobson, "Controlling Queue Delay" (ACM Queue, 2012); Linux 6.18, codel_impl.h. RFC
 * 8289 signals at the instant the interval is over, Linux and this code one unit of time later. Linux's ce_threshold:
 * what has waited longer and can be marked is marked anyway, whatever CoDel does (tc-fq_codel.8).
 */
#include <math.h>
#include <string.h>

#include "packet/queues/qdisc.h"
#include "packet/queues/codel.h"

typedef struct {
    PI2_CODEL_FIELDS(PI2_FIELD)
} given;

/* The kernel's unit of time, CODEL_SHIFT; and the intervals within which a state of signalling goes on where the last
 * one ended: 16 (RFC 8289, section 5.5, and the kernel). */
enum { UNIT_BITS = 10, EXACTLY_ONE = UINT16_MAX, RESTARTS = 16 };

typedef struct {
    int64_t target, interval; /* units of 2^shift ns */
    int64_t floor;            /* bytes of backlog up to which nothing is signalled */
    int64_t step;             /* units: what waited longer is marked */
    int shift;                /* 10 in integers, else 0 */
    int ecn, ect1_alone;
} codel_parameters;

typedef struct {
    int64_t first_above; /* units: since then + interval above the target; 0: not above */
    int64_t next;        /* units: when the next signal is due */
    int64_t gap;         /* units: interval/sqrt(count) */
    int64_t waited;      /* units, of the last packet taken */
    uint32_t count;      /* signals of this dropping state, or of the last */
    uint32_t count_before; /* its value when this dropping state began */
    uint16_t inverse;    /* 1/sqrt(count) in 1/2^16 */
    uint8_t dropping;
} codel_variables;

typedef struct {
    codel_parameters params;
    codel_variables vars;
} codel;

/* Newton's x (3 - n x^2) / 2 towards 1/sqrt(n), with x in 1/2^32 and the bracket in 1/2^31 halved twice. */
uint16_t pi2_codel_newton(uint16_t inverse, uint32_t count)
{
    const uint64_t x = (uint64_t)inverse << 16, square = (x * x) >> 32;
    const uint64_t bracket = ((UINT64_C(3) << 32) - count * square) >> 2;
    return (uint16_t)((bracket * x) >> 47);
}

int64_t pi2_codel_gap(int64_t interval, uint16_t inverse)
{
    return (interval * inverse) >> 16;
}

/* The count has become this: computes the gap to the next signal. */
static void set_gap(codel *c)
{
    codel_variables *v = &c->vars;
    if (!c->params.shift) {
        v->gap = (int64_t)((double)c->params.interval / sqrt((double)v->count) + 0.5);
        return;
    }
    v->inverse = v->count == 1 ? EXACTLY_ONE : pi2_codel_newton(v->inverse, v->count);
    v->gap = pi2_codel_gap(c->params.interval, v->inverse);
}

/* Takes the next packet. 1 there is one, 2 there is one and the target was exceeded for an interval. */
static int take(codel *c, pi2_queue *queue, pi2_packet *packet, int64_t time)
{
    codel_variables *v = &c->vars;
    if (!queue->band[PI2_C].count) {
        v->first_above = 0;
        return 0;
    }
    pi2_queue_pop(queue, PI2_C, packet);
    v->waited = time - (packet->enqueued >> c->params.shift);
    if (v->waited < c->params.target || queue->band[PI2_C].bytes + queue->beside <= c->params.floor) {
        v->first_above = 0;
        return 1;
    }
    if (!v->first_above)
        v->first_above = time + c->params.interval;
    else if (time > v->first_above)
        return 2;
    return 1;
}

/* Signals the packet; 1 if that was a mark, so that it goes on its way. */
static int signal_packet(const codel *c, pi2_queue *queue, pi2_packet *packet, int64_t now)
{
    if (pi2_can_be_marked(c->params.ecn, packet->ecn)) {
        pi2_queue_mark(queue, packet, PI2_MARK_AQM);
        return 1;
    }
    pi2_queue_drop(queue, packet, now, PI2_DROP_AQM);
    return 0;
}

/* In the dropping state, with a packet that waited too long: signals as many as are due. */
static int go_on(codel *c, pi2_queue *queue, pi2_packet *packet, int64_t now)
{
    const int64_t time = now >> c->params.shift;
    codel_variables *v = &c->vars;
    int found = 2;
    while (v->dropping && time >= v->next) {
        v->count++;
        set_gap(c);
        if (signal_packet(c, queue, packet, now)) {
            v->next += v->gap;
            return 1;
        }
        found = take(c, queue, packet, time);
        v->dropping = found == 2;
        if (v->dropping)
            v->next += v->gap;
    }
    return found;
}

/* Signals the packet and enters the dropping state: at the pace of the last one, if that is not long ago. */
static int begin(codel *c, pi2_queue *queue, pi2_packet *packet, int64_t now)
{
    const int64_t time = now >> c->params.shift;
    codel_variables *v = &c->vars;
    const uint32_t gained = v->count - v->count_before;
    const int found = signal_packet(c, queue, packet, now) ? 1 : take(c, queue, packet, time);
    v->dropping = 1;
    v->count = gained > 1 && time - v->next < RESTARTS * c->params.interval ? gained : 1;
    set_gap(c);
    v->count_before = v->count;
    v->next = time + v->gap;
    return found;
}

/* The step: marks what has waited longer, unless it bears a mark. */
static void mark_late(const codel *c, pi2_queue *queue, pi2_packet *packet)
{
    const int may = c->params.ect1_alone ? packet->ecn == PI2_ECT1 : packet->ecn == PI2_ECT1 || packet->ecn == PI2_ECT0;
    if (may && c->vars.waited > c->params.step)
        pi2_queue_mark(queue, packet, PI2_MARK_STEP);
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    codel *c = qdisc;
    int found = take(c, queue, packet, now >> c->params.shift);
    (void)draws;
    if (found == 2)
        found = c->vars.dropping ? go_on(c, queue, packet, now) : begin(c, queue, packet, now);
    else
        c->vars.dropping = 0;
    if (found)
        mark_late(c, queue, packet);
    return found != 0;
}

/* They count as signals (Linux), though the pace follows only with the next one. */
static void made_room(void *qdisc, uint32_t packets)
{
    ((codel *)qdisc)->vars.count += packets;
}

/* It has no probability. Its variable is how many signals an interval holds now. */
static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    const codel *c = qdisc;
    (void)queue;
    probe->controller = c->vars.dropping ? (double)c->params.interval / (double)(c->vars.gap ? c->vars.gap : 1) : 0.0;
    probe->classic = probe->scalable = NAN;
}

void pi2_codel_look(const void *qdisc, pi2_codel_view *view)
{
    const codel *c = qdisc;
    view->count = c->vars.count;
    view->count_before = c->vars.count_before;
    view->dropping = c->vars.dropping;
    view->waited = c->vars.waited << c->params.shift;
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    codel *c = qdisc;
    const given *x = parameters;
    if (!(x->target >= 1e-9 && x->target < 1e4 && x->interval >= 1e-5 && x->interval < 1e4 && x->ce_threshold >= 0.0))
        return 0;
    memset(c, 0, sizeof *c);
    c->params.shift = x->fixed != 0.0 ? UNIT_BITS : 0;
    c->params.target = pi2_ns(x->target) >> c->params.shift;
    c->params.interval = pi2_ns(x->interval) >> c->params.shift;
    c->params.floor = queue->mtu;
    c->params.step = x->ce_threshold < 1e4 ? pi2_ns(x->ce_threshold) >> c->params.shift : INT64_MAX;
    c->params.ecn = x->ecn != 0.0;
    c->params.ect1_alone = x->ect1_alone != 0.0;
    return 1;
}

const pi2_qdisc pi2_qdisc_codel = {
    .name = "codel",
    .size = sizeof(codel),
    PI2_CONFIGURED_BY(PI2_CODEL_FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = pi2_push_if_room,
    .dequeue = dequeue,
    .probe = probe,
    .made_room = made_room,
};
