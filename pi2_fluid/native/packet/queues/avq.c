/* AVQ: every arrival drains the virtual queue and enters it. If it does not fit there, it leaves it again and is
 * signalled. Then the virtual capacity gets what may arrive in the time that has passed, and pays for the packet; a
 * packet that was dropped for the virtual queue neither pays nor takes that time.
 *
 * Sources: Kunniyur, Srikant (SIGCOMM 2001); ns-2, vq.cc, without its marks and drops at the head. ns-2 reads the
 * capacity once; here it is that of the link now.
 */
#include "packet/queues/avq.h"

#include <math.h>

#include "packet/controllers/avq.h"
#include "packet/queues/qdisc.h"

/* The parameters: those of the law, and what packets need beside them. */
#define OWN(F) \
    F(bytes) /* 1: packets count in bytes */ \
    F(ecn)   /* 1: packets that can be marked are marked, not dropped */
#define FIELDS(F) PI2_AVQ_FIELDS(F) OWN(F)

typedef struct {
    pi2_avq law;
    OWN(PI2_FIELD)
} given;

typedef struct {
    pi2_avq law;
    double mtu;       /* bytes of a full packet */
    double room;      /* of the virtual queue, in its unit */
    double queue;     /* what it holds */
    double capacity;  /* Cv, per second */
    int64_t drained;  /* ns: up to when it was served */
    int64_t credited; /* ns: up to when Cv has got its part */
    uint8_t bytes, ecn, begun;
} avq;

/* Packets, or bytes, that the link serves in a second. */
static double served(const avq *q, const pi2_queue *queue)
{
    return queue->capacity / 8.0 / (q->bytes ? 1.0 : q->mtu);
}

static void begin(avq *q, const pi2_queue *queue, int64_t now)
{
    q->begun = 1;
    q->capacity = q->law.start * served(q, queue);
    q->drained = q->credited = now;
}

/* Whether an arrival of that size does not fit into the virtual queue. */
static int loses(avq *q, double size, int64_t now)
{
    q->queue = fmax(0.0, q->queue - q->capacity * 1e-9 * (double)(now - q->drained)) + size;
    q->drained = now;
    if (q->queue <= q->room)
        return 0;
    q->queue = fmax(0.0, q->queue - size);
    return 1;
}

static void adapt(avq *q, double size, double capacity, int64_t now)
{
    const double part = q->law.utilization * capacity * 1e-9 * (double)(now - q->credited);
    q->capacity = fmin(fmax(q->capacity + q->law.alpha * (part - size), 0.0), capacity);
    q->credited = now;
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    avq *q = qdisc;
    const double size = q->bytes ? packet->bytes : 1.0;
    int signalled;
    (void)draws;
    if (!q->begun)
        begin(q, queue, now);
    signalled = loses(q, size, now);
    if (signalled && !pi2_can_be_marked(q->ecn, packet->ecn)) {
        pi2_queue_drop(queue, packet, now, PI2_DROP_AQM);
        return;
    }
    adapt(q, size, served(q, queue), now);
    if (!pi2_queue_has_room(queue, packet, now))
        return;
    if (signalled)
        pi2_queue_mark(queue, packet, PI2_MARK_AQM);
    pi2_queue_push(queue, PI2_C, packet, now);
}

void pi2_avq_look(const void *qdisc, pi2_avq_view *view)
{
    const avq *q = qdisc;
    view->queue = q->queue;
    view->capacity = q->capacity;
}

/* It has no probability. Its variable is what the law of the fluid has. */
static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    const avq *q = qdisc;
    const double part = q->begun ? q->capacity / served(q, queue) : q->law.start;
    probe->controller = pi2_avq_signalled(&q->law, part);
    probe->classic = probe->scalable = NAN;
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    avq *q = qdisc;
    const given *x = parameters;
    const pi2_avq *p = &x->law;
    if (!(p->utilization > 0.0 && p->utilization <= 1.0 && p->alpha > 0.0 && p->alpha < 1e9 && p->start > 0.0
          && p->start <= 1.0 && p->buffer > 0.0 && p->buffer < 1e12 && queue->mtu >= 1))
        return 0;
    *q = (avq){.law = *p, .mtu = (double)queue->mtu, .bytes = x->bytes != 0.0, .ecn = x->ecn != 0.0};
    q->room = p->buffer * (q->bytes ? q->mtu : 1.0);
    return 1;
}

const pi2_qdisc pi2_qdisc_avq = {
    .name = "avq",
    .size = sizeof(avq),
    PI2_CONFIGURED_BY(FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = pi2_take_head,
    .probe = probe,
};
