/* Pipes: rings of equal delay. */
#include "packet/core/pipes.h"

#include <stdlib.h>
#include <string.h>

#include "packet/core/pages.h"

enum { FIRST = 16 }; /* room in a new pipe, a power of two */

int pi2_pipes_new(pi2_pipes *p, const int64_t *delays, uint32_t count, size_t content)
{
    p->item = sizeof(int64_t) + (content + 7) / 8 * 8;
    p->pipes = calloc((size_t)count + 1, sizeof *p->pipes);
    if (!p->pipes || !pi2_winners_new(&p->heads, count))
        return 0;
    for (p->count = 0; p->count < count; p->count++) {
        p->pipes[p->count] = (pi2_pipe){.delay = delays[p->count], .last = INT64_MIN};
        if (!pi2_pipe_grow(p, p->pipes + p->count))
            return 0;
    }
    return 1;
}

void pi2_pipes_free(pi2_pipes *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        free(p->pipes[i].ring);
    free(p->pipes);
    pi2_winners_free(&p->heads);
}

int pi2_pipe_grow(const pi2_pipes *p, pi2_pipe *pipe)
{
    const size_t new = pipe->ring ? 2 * ((size_t)pipe->mask + 1) : FIRST;
    unsigned char *ring = new <= UINT32_MAX ? malloc(new * p->item) : NULL;
    if (!ring)
        return 0;
    pi2_large_pages(ring, new * p->item);
    for (size_t i = 0; i < pipe->count; i++)
        memcpy(ring + i * p->item, pipe->ring + ((pipe->head + i) & pipe->mask) * p->item, p->item);
    free(pipe->ring);
    pipe->ring = ring;
    pipe->mask = (uint32_t)(new - 1);
    pipe->head = 0;
    return 1;
}
