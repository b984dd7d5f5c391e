/* Pipes: rings of equal delay, and a tree of winners over their heads. */
#include "packet/core/pipes.h"

#include <stdlib.h>
#include <string.h>

#include "packet/core/time.h"

enum { FIRST = 64 }; /* room in a new pipe, a power of two */

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
    p->pipes[p->count] = (pi2_pipe){.delay = delay, .last = INT64_MIN};
    return pi2_pipe_grow(p, p->pipes + p->count) ? p->count++ : PI2_NO_PIPE;
}

int pi2_pipe_grow(const pi2_pipes *p, pi2_pipe *pipe)
{
    const size_t new = pipe->ring ? 2 * ((size_t)pipe->mask + 1) : FIRST;
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
