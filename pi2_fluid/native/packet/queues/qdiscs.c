/* The queue disciplines by name, and what several of them share. */
#include <string.h>

#include "packet/queues/qdisc.h"

static const pi2_qdisc *const QDISCS[] = {
#define PI2_QDISC(name) &pi2_qdisc_##name,
#include "laws.def"
};

const pi2_qdisc *pi2_find_qdisc(const char *name)
{
    for (size_t i = 0; i < sizeof QDISCS / sizeof *QDISCS; i++)
        if (!strcmp(QDISCS[i]->name, name))
            return QDISCS[i];
    return NULL;
}

void pi2_push_if_room(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    (void)qdisc;
    (void)draws;
    if (pi2_queue_has_room(queue, packet, now))
        pi2_queue_push(queue, PI2_C, packet, now);
}

int pi2_take_head(void *qdisc, pi2_queue *queue, pi2_packet *packet, int64_t now, pi2_draws *draws)
{
    (void)qdisc;
    (void)now;
    (void)draws;
    if (!queue->band[PI2_C].count)
        return 0;
    pi2_queue_pop(queue, PI2_C, packet);
    return 1;
}
