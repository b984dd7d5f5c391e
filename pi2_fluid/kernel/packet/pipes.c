/* Pipes: rings of equal delay, and a tree of winners over their heads. */
#include "pipes.h"

#include <stdlib.h>
#include <string.h>

#include "qdisc.h"

int pi2_pipes_new(pi2_pipes *p, uint32_t most, size_t content)
{
    p->leaves = 1;
    while (p->leaves < most)
        p->leaves *= 2;
    p->count = 0;
    p->due = PI2_NEVER;
    p->item = sizeof(int64_t) + (content + 7) / 8 * 8;
    p->pipes = calloc(p->leaves, sizeof *p->pipes);
    p->heads = malloc(p->leaves * sizeof *p->heads);
    p->winners = malloc(2 * (size_t)p->leaves * sizeof *p->winners);
    if (!p->pipes || !p->heads || !p->winners)
        return 0;
    for (uint32_t i = 0; i < p->leaves; i++)
        p->heads[i] = PI2_NEVER;
    /* all are empty: the lowest wins, but it must be one below the node, as no match may ever be played there */
    for (uint32_t i = 2 * p->leaves - 1; i > 0; i--)
        p->winners[i] = i < p->leaves ? p->winners[2 * i] : i - p->leaves;
    return 1;
}

void pi2_pipes_free(pi2_pipes *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        free(p->pipes[i].ring);
    free(p->pipes);
    free(p->heads);
    free(p->winners);
}

uint32_t pi2_pipes_find(pi2_pipes *p, int64_t delay)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->pipes[i].delay == delay)
            return i;
    p->pipes[p->count].delay = delay;
    p->pipes[p->count].last = INT64_MIN;
    return p->count++;
}

/* Whose head changed plays its matches again; a tie goes to the lower number. */
static void replay(pi2_pipes *p, uint32_t pipe)
{
    for (uint32_t node = (p->leaves + pipe) / 2; node >= 1; node /= 2) {
        const uint32_t left = p->winners[2 * node], right = p->winners[2 * node + 1];
        p->winners[node] = p->heads[right] < p->heads[left] ? right : left;
    }
    p->due = p->heads[p->winners[1]];
}

static int grow(const pi2_pipes *p, pi2_pipe *pipe)
{
    const size_t old = pipe->ring ? (size_t)pipe->mask + 1 : 0, new = old ? 2 * old : 64;
    unsigned char *ring = new <= UINT32_MAX ? malloc(new * p->item) : NULL;
    if (!ring)
        return 0;
    for (size_t i = 0; i < pipe->count; i++)
        memcpy(ring + i * p->item, pipe->ring + ((pipe->head + i) & pipe->mask) * p->item, p->item);
    free(pipe->ring);
    pipe->ring = ring;
    pipe->mask = (uint32_t)(new - 1);
    pipe->head = 0;
    return 1;
}

void *pi2_pipes_put(pi2_pipes *p, uint32_t number, int64_t due)
{
    pi2_pipe *pipe = p->pipes + number;
    unsigned char *place;
    if ((!pipe->ring || pipe->count > pipe->mask) && !grow(p, pipe))
        return NULL;
    if (due < pipe->last)
        due = pipe->last;
    pipe->last = due;
    place = pipe->ring + ((pipe->head + pipe->count) & pipe->mask) * p->item;
    memcpy(place, &due, sizeof due);
    if (pipe->count++ == 0) {
        p->heads[number] = due;
        replay(p, number);
    }
    return place + sizeof due;
}

const void *pi2_pipes_take(pi2_pipes *p)
{
    const uint32_t number = p->winners[1];
    pi2_pipe *pipe = p->pipes + number;
    const unsigned char *place = pipe->ring + (pipe->head++ & pipe->mask) * p->item;
    p->heads[number] = PI2_NEVER;
    if (--pipe->count)
        memcpy(&p->heads[number], pipe->ring + (pipe->head & pipe->mask) * p->item, sizeof *p->heads);
    replay(p, number);
    return place + sizeof(int64_t);
}
