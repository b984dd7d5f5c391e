#include "margins/aliases/ack_plant.h"

#include <stdlib.h>
#include <string.h>

#include "margins/aliases/ack_lines.h"
#include "margins/vector/block.h"

static size_t delay_at(pi2_ack_plant *plant, double delay)
{
    for (size_t d = 0; d < plant->delays; d++)
        if (plant->delay[d] == delay)
            return d;
    plant->delay[plant->delays] = delay;
    return plant->delays++;
}

static int degree_of(const double (*of)[PI2_ACK_COEFFICIENTS])
{
    for (int i = PI2_ACK_COEFFICIENTS - 1; i > 0; i--)
        if (of[0][i] != 0.0 || of[1][i] != 0.0)
            return i;
    return 0;
}

static int follows(const pi2_ack_class *cls)
{
    return degree_of(cls->acks) > 0 || cls->acks[0][0] != 0.0 || cls->acks[1][0] != 0.0;
}

pi2_ack_plant *pi2_ack_plant_make(size_t classes, const pi2_ack_class *cls, const pi2_ack_queue *queue)
{
    pi2_ack_plant *const plant = calloc(1, sizeof *plant);
    if (!plant)
        return 0;
    plant->cls = calloc(classes + 1, sizeof *plant->cls);
    plant->delay = calloc(3 * classes + 1, sizeof *plant->delay);
    if (!plant->cls || !plant->delay) {
        pi2_ack_plant_free(plant);
        return 0;
    }
    plant->classes = classes;
    plant->rest = *queue;
    plant->alone = classes == 1 && cls->waits && !cls->paced && cls->share == 1.0 && !follows(cls);
    if (plant->alone)
        plant->through = delay_at(plant, cls->heard + (queue->head ? queue->queue_delay : 0.0));
    else
        plant->queue = delay_at(plant, queue->queue_delay);
    for (size_t c = 0; c < classes; c++) {
        pi2_ack_member *const p = &plant->cls[c];
        p->law = cls[c];
        p->own = degree_of(cls[c].own);
        p->signal = degree_of(cls[c].signal);
        p->acks = degree_of(cls[c].acks);
        p->follows = follows(&cls[c]);
        p->plain = p->own <= 1 && p->signal <= 1 && !p->follows && !cls[c].paced;
        p->rtt = delay_at(plant, cls[c].rtt);
        if (plant->alone)
            break;
        p->base = delay_at(plant, cls[c].base_rtt);
        p->heard = delay_at(plant, cls[c].heard);
    }
    return plant;
}

void pi2_ack_plant_free(pi2_ack_plant *plant)
{
    if (plant) {
        free(plant->cls);
        free(plant->delay);
    }
    free(plant);
}

int pi2_ack_plant_at(const pi2_ack_plant *plant, size_t n, const double *s, double *values)
{
    return pi2_simd_at(0)->ack_at(plant, n, s, values);
}

pi2_ack_sums *pi2_ack_sums_make(const pi2_ack_plant *plant, double interval, size_t pairs, const double *whole,
                                const double *mean, int echoing)
{
    pi2_ack_sums *const sums = calloc(1, sizeof *sums);
    if (!sums)
        return 0;
    sums->plant = plant;
    sums->interval = interval;
    sums->pairs = pairs;
    sums->lines = lines_of(2 * pairs);
    sums->echoing = echoing;
    sums->turn = malloc((plant->delays * sums->lines + 1) * sizeof *sums->turn);
    sums->whole = calloc(sums->lines * LANES + 1, sizeof *sums->whole);
    sums->mean = calloc(sums->lines * LANES + 1, sizeof *sums->mean);
    if (!sums->turn || !sums->whole || !sums->mean) {
        pi2_ack_sums_free(sums);
        return 0;
    }
    for (size_t d = 0; d < plant->delays; d++)
        turns(plant->delay[d] / interval, pairs - 1, sums->lines, sums->turn + d * sums->lines);
    memcpy(sums->whole, whole, 2 * pairs * sizeof *whole);
    memcpy(sums->mean, mean, 2 * pairs * sizeof *mean);
    return sums;
}

void pi2_ack_sums_free(pi2_ack_sums *sums)
{
    if (sums) {
        free(sums->turn);
        free(sums->whole);
        free(sums->mean);
    }
    free(sums);
}

int pi2_ack_sums_at(const pi2_ack_sums *sums, size_t n, const double *s, double *values)
{
    return pi2_simd_at(0)->ack_sums(sums, n, s, values);
}
