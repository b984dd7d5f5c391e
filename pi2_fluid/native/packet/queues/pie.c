/* PIE: packets are dropped (or marked) on arrival with a probability that a timer updates from the queue delay, with
 * the heuristics of its generations around it, each of which can be left out.
 * PIE paper (HPSR'13), section IV; RFC 8033, sections 4 and 5; Linux 6.18 and 4.14, net/sched/sch_pie.c. */
#include "packet/queues/pie.h"

#include "packet/queues/pie_update.h"
#include "packet/queues/qdisc.h"
#include "packet/queues/rate_estimator.h"

typedef struct {
    pi2_pie law;
    PI2_PIE_PACKET_OWN(PI2_FIELD)
} given;

typedef struct {
    /* what a packet meets first */
    uint64_t p;           /* in 1/(2^56 - 1), as of the last tick */
    int64_t floor;        /* bytes: a shorter queue is left alone */
    int64_t mtu;          /* bytes of a full packet in byte mode, else 0 */
    int64_t half_target;  /* ticks, 0: no such rule */
    uint64_t twenty, mark_limit, least, most; /* p below which that rule holds; p up to which packets are marked;
                                                 sums of p below which none is signalled, from which on all are */
    uint64_t accumulated; /* sum of p since the last signal; its 64 bits wrap at 256 */
    int64_t burst;        /* ticks, what is left of the allowance */
    int64_t delay;        /* ticks, the latest sample */
    int64_t left;         /* ticks, when the last packet left, -1: none has */
    int derandomize, previous, estimator, burst_by_update, ecn, at_dequeue;
    int widen;            /* bits from the units of p to 1/2^56 */
    pi2_pie_params params;
    pi2_pie_vars vars;
    pi2_rate_params rate_params;
    pi2_rate_vars rate;
    int64_t allowance; /* ticks of burst */
    int64_t interval, first; /* ns */
} pie;

static int64_t ticks(const pie *q, int64_t ns)
{
    return ns >> q->params.shift;
}

/* 20 %: RFC 8033, section 4.1; 0.85 and 8.5: section 5.4. */
static void set_thresholds(pie *q, const given *x)
{
    const uint64_t full = q->params.full, full_56 = full << q->widen;
    q->twenty = (full / 5) << q->widen;
    q->mark_limit = x->mark_limit < 1.0 ? (uint64_t)((double)full * x->mark_limit) << q->widen : UINT64_MAX;
    q->least = full_56 / 100 * 85;
    q->most = full_56 / 2 * 17;
}

static void set_estimator(pie *q, const given *x)
{
    q->estimator = x->rate_estimator != 0.0;
    q->rate_params.threshold = (int64_t)x->rate_threshold;
    q->rate_params.weight = x->rate_weight;
    q->rate_params.integers = q->params.arithmetic != PI2_PIE_REAL;
    q->rate_params.quirks = q->params.quirks;
    pi2_rate_reset(&q->rate);
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    pie *q = qdisc;
    const given *x = parameters;
    *q = (pie){0};
    if (!pi2_pie_setup(&q->params, &x->law, (int)x->arithmetic, x->quirks != 0.0))
        return 0;
    q->params.strict_idle = x->strict_idle != 0.0;
    pi2_pie_start(&q->params, &q->vars);
    q->widen = q->params.arithmetic == PI2_PIE_32_BITS ? 24 : 0;
    set_thresholds(q, x);
    set_estimator(q, x);
    q->floor = 2 * queue->mtu;
    q->mtu = x->bytemode != 0.0 ? queue->mtu : 0;
    q->half_target = x->half_target != 0.0 ? q->params.target / 2 : 0;
    q->previous = x->half_target == 2.0;
    q->derandomize = x->derandomize != 0.0;
    q->burst_by_update = x->burst_by_update != 0.0;
    q->burst = q->allowance = ticks(q, pi2_ns(x->allowance));
    q->left = -1;
    q->ecn = x->ecn != 0.0;
    q->at_dequeue = x->at_dequeue != 0.0;
    q->interval = pi2_ns(x->law.pi.update_interval);
    q->first = pi2_ns(x->first_update);
    return q->interval > 0;
}

/* Signals */

/* p of a packet of so many bytes: in byte mode small ones are signalled in proportion, in the kernel's rounding. */
static inline uint64_t probability_of(const pie *q, int64_t bytes)
{
    if (!q->mtu || bytes > q->mtu)
        return q->p;
    return ((q->p >> q->widen) / (uint64_t)q->mtu * (uint64_t)bytes) << q->widen;
}

/* Whether to signal a packet, whatever that means for it; `backlog` is the queue without it. */
static inline int judged(pie *q, int64_t backlog, int64_t bytes, pi2_draws *draws)
{
    const uint64_t p = probability_of(q, bytes);
    const int64_t delay = q->previous ? q->vars.before : q->delay;
    if (q->burst > 0 || (delay < q->half_target && q->p < q->twenty) || backlog < q->floor)
        return 0;
    if (q->derandomize) {
        q->accumulated = p ? q->accumulated + p : 0;
        if (q->accumulated < q->least)
            return 0;
        if (q->accumulated >= q->most)
            return 1; /* the sum stays: only a drop, or p = 0, ends this row of signals */
    }
    if (pi2_draw(draws, 0) >> 8 >= p)
        return 0;
    q->accumulated = 0;
    return 1;
}

/* Drops or marks; 0 if the packet is lost. */
static inline int signalled(pie *q, pi2_queue *queue, pi2_packet *packet, int64_t now)
{
    if (pi2_can_be_marked(q->ecn, packet->ecn) && q->p <= q->mark_limit) {
        pi2_queue_mark(queue, packet, PI2_MARK_AQM);
        return 1;
    }
    q->accumulated = 0;
    pi2_queue_drop(queue, packet, now, PI2_DROP_AQM);
    return 0;
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    pie *q = qdisc;
    if (!pi2_queue_has_room(queue, packet, now)) {
        q->accumulated = 0;
        return;
    }
    if (!q->at_dequeue && judged(q, pi2_queue_bytes(queue), packet->bytes, draws)
        && !signalled(q, queue, packet, now))
        return;
    pi2_queue_push(queue, PI2_C, packet, now);
}

/* Departures */

static inline void spend_burst(pie *q, int64_t spent)
{
    if (!q->burst_by_update)
        q->burst = q->burst > spent ? q->burst - spent : 0;
}

/* All times in ticks. */
static inline void leave(pie *q, int64_t bytes, int64_t backlog, int64_t waited, int64_t now)
{
    if (q->estimator) {
        spend_burst(q, pi2_rate_leave(&q->rate_params, &q->rate, bytes, backlog, now));
        return;
    }
    q->delay = backlog ? waited : 0;
    if (q->left >= 0)
        spend_burst(q, now - q->left);
    q->left = now;
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    pie *q = qdisc;
    while (queue->band[PI2_C].count) {
        pi2_queue_pop(queue, PI2_C, packet);
        if (q->at_dequeue) {
            draws->index++;
            if (judged(q, pi2_queue_bytes(queue), packet->bytes, draws) && !signalled(q, queue, packet, now))
                continue;
        }
        leave(q, packet->bytes, pi2_queue_bytes(queue), ticks(q, now) - ticks(q, packet->enqueued), ticks(q, now));
        return 1;
    }
    return 0;
}

/* The timer */

static int64_t first_tick(const void *qdisc)
{
    return ((const pie *)qdisc)->first;
}

/* As before the first packet, but p and the delays stay: p is 0 anyway. */
static void restart(pie *q)
{
    q->burst = q->allowance;
    q->accumulated = 0;
    q->left = -1;
    pi2_rate_reset(&q->rate);
}

static void sample(pie *q, int64_t delay, int64_t backlog)
{
    const int calm = pi2_pie_update(&q->params, &q->vars, delay, backlog != 0);
    q->delay = delay;
    q->p = q->vars.p << q->widen;
    if (q->burst_by_update)
        q->burst = pi2_ns(q->vars.state[2]);
    else if (calm && (!q->estimator || pi2_rate_known(&q->rate)))
        restart(q);
}

static int64_t tick(void *qdisc, pi2_queue *queue, int64_t now)
{
    pie *q = qdisc;
    const int64_t backlog = pi2_queue_bytes(queue);
    sample(q, q->estimator ? pi2_rate_delay(&q->rate_params, &q->rate, backlog) : q->delay, backlog);
    return now + q->interval;
}

static void push(void *qdisc, double amount)
{
    ((pie *)qdisc)->vars.state[0] += amount; /* of the law: integers are not pushed */
}

static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    const pie *q = qdisc;
    const double p = pi2_pie_probability(&q->params, &q->vars);
    (void)queue;
    probe->controller = p;
    probe->classic = probe->scalable = q->burst > 0 ? 0.0 : p < 1.0 ? p : 1.0;
}

const pi2_qdisc pi2_qdisc_pie = {
    .name = "pie",
    .size = sizeof(pie),
    PI2_CONFIGURED_BY(PI2_PIE_PACKET_FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .first_tick = first_tick,
    .tick = tick,
    .push = push,
    .probe = probe,
};

/* Replays */

void pi2_pie_look(const void *qdisc, pi2_pie_view *view)
{
    const pie *q = qdisc;
    view->p = q->params.arithmetic == PI2_PIE_REAL ? 0 : q->vars.p;
    view->delay = q->delay << q->params.shift;
    view->burst = q->burst << q->params.shift;
    view->accumulated = q->accumulated;
    view->probability = pi2_pie_probability(&q->params, &q->vars);
}

void pi2_pie_hold(void *qdisc, double p, int64_t delay, int64_t burst)
{
    pie *q = qdisc;
    q->vars.p = p < 1.0 ? (uint64_t)(p * (double)q->params.full) : q->params.full;
    q->vars.state[0] = p;
    q->vars.state[1] = (double)delay * 1e-9;
    q->p = q->vars.p << q->widen;
    q->delay = q->vars.before = ticks(q, delay);
    q->burst = ticks(q, burst);
}

void pi2_pie_accumulate(void *qdisc, double sum)
{
    pie *q = qdisc;
    q->accumulated = (uint64_t)(sum * (double)(q->params.full << q->widen));
}

void pi2_pie_sample(void *qdisc, int64_t delay, int64_t backlog)
{
    pie *q = qdisc;
    sample(q, ticks(q, delay), backlog);
}

int pi2_pie_judge(void *qdisc, int64_t backlog, int64_t bytes, pi2_draws *draws)
{
    return judged(qdisc, backlog, bytes, draws);
}

void pi2_pie_dropped(void *qdisc)
{
    ((pie *)qdisc)->accumulated = 0;
}

void pi2_pie_leave(void *qdisc, int64_t bytes, int64_t backlog, int64_t waited, int64_t now)
{
    pie *q = qdisc;
    leave(q, bytes, backlog, ticks(q, waited), ticks(q, now));
}

void pi2_pie_rate(const void *qdisc, int64_t *count, uint64_t *rate)
{
    const pie *q = qdisc;
    *count = q->rate.count;
    *rate = q->rate.rate;
}
