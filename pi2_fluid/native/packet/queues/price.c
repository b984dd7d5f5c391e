/* Price: counts what arrives, and marks what leaves. It knows nothing of the queue, whose packets wait as they came.
 * Paganini, Wang, Low, Doyle (2002), Figure 4, where a packet is marked if what is drawn is below the probability, as
 * its text has it, and not from there on. */
#include "packet/controllers/price.h"
#include "packet/queues/qdisc.h"

typedef struct {
    uint64_t threshold; /* a draw below this is a hit */
    int64_t bytes;      /* that came since the last update */
    int64_t interval;   /* ns */
    pi2_price law;
    double price; /* s */
} price;

static double signalled(const price *q)
{
    return pi2_price_encode(q->law.phi, q->price);
}

static int setup(void *qdisc, const void *parameters, const pi2_queue *queue)
{
    price *q = qdisc;
    (void)queue;
    *q = (price){.law = *(const pi2_price *)parameters};
    q->interval = pi2_ns(q->law.update_interval);
    return q->interval > 0 && q->law.phi > 1.0 && q->law.utilization > 0.0;
}

static void enqueue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    ((price *)qdisc)->bytes += packet->bytes; /* whether or not there is room */
    pi2_push_if_room(NULL, queue, packet, now, draws);
}

/* Of what cannot be marked, nobody's rate follows from a SYN or an acknowledgement. */
static int spared(const pi2_packet *packet)
{
    return packet->ecn == PI2_NOT_ECT && packet->flags & (PI2_SYN | PI2_RETURNING);
}

static int dequeue(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    const price *q = qdisc;
    while (queue->band[PI2_C].count) {
        pi2_queue_pop(queue, PI2_C, packet);
        draws->index++; /* each packet has a draw of its own, also after one that was dropped */
        if (spared(packet) || pi2_draw(draws, 0) >= q->threshold)
            return 1;
        if (packet->ecn != PI2_NOT_ECT) {
            pi2_queue_mark(queue, packet, PI2_MARK_AQM);
            return 1;
        }
        pi2_queue_drop(queue, packet, now, PI2_DROP_AQM);
    }
    return 0;
}

static int64_t first_tick(const void *qdisc)
{
    return ((const price *)qdisc)->interval;
}

/* Smaller packets, such as acknowledgements, count as what they are of a full one. */
static int64_t tick(void *qdisc, pi2_queue *queue, int64_t now)
{
    price *q = qdisc;
    const double capacity = queue->capacity / 8.0 / (double)queue->mtu;
    const double packets = (double)q->bytes / (double)queue->mtu;
    q->price = pi2_price_update(&q->law, q->price, packets, capacity, q->law.update_interval);
    q->bytes = 0;
    q->threshold = pi2_bits_below(signalled(q));
    return now + q->interval;
}

static void probe(const void *qdisc, const pi2_queue *queue, pi2_probe *probe)
{
    const price *q = qdisc;
    (void)queue;
    probe->controller = q->price;
    probe->classic = probe->scalable = signalled(q);
}

const pi2_qdisc pi2_qdisc_price = {
    .name = "price",
    .size = sizeof(price),
    PI2_CONFIGURED_BY(PI2_PRICE_FIELDS),
    .bands = 1,
    .setup = setup,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .first_tick = first_tick,
    .tick = tick,
    .probe = probe,
};
