/* Pipes: what is under way with one and the same delay comes out in the order in which it went in, so that a ring is
 * all it needs, and a tree of winners over their heads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "packet/core/bits.h"
#include "packet/core/winners.h"

typedef struct {
    unsigned char *ring; /* of mask + 1 items, a power of two: int64_t due, then the content */
    uint32_t mask, head, count;
    int64_t delay;       /* ns */
    int64_t last;        /* ns: when its youngest item is due */
} pi2_pipe;

typedef struct {
    pi2_pipe *pipes;
    uint32_t count;
    size_t item;         /* bytes of an item, `due` included; a multiple of 8 */
    pi2_winners heads;   /* when the head of each pipe is due, if it has any */
} pi2_pipes;

#define PI2_NO_PIPE UINT32_MAX
/* How many items before its turn one is fetched: of many pipes no processor foresees which is next. */
#define PI2_PIPE_FETCHED 8

/* One for each of the delays (ns), `content` bytes each; 0 if there is no memory. */
int pi2_pipes_new(pi2_pipes *pipes, const int64_t *delays, uint32_t count, size_t content);
void pi2_pipes_free(pi2_pipes *pipes);
/* A ring of twice the size, or the first one; 0 if there is no memory. */
int pi2_pipe_grow(const pi2_pipes *pipes, pi2_pipe *pipe);

/* ns: when the first item is due, PI2_NEVER if there is none. */
static inline int64_t pi2_pipes_due(const pi2_pipes *p)
{
    return p->heads.due;
}

/* Room for an item due at `due` or, if that is earlier than the one before it, together with that; NULL: no memory. */
static inline void *pi2_pipes_put(pi2_pipes *p, uint32_t number, int64_t due)
{
    pi2_pipe *pipe = p->pipes + number;
    unsigned char *place;
    if (pipe->count > pipe->mask && !pi2_pipe_grow(p, pipe))
        return NULL;
    if (due < pipe->last)
        due = pipe->last;
    pipe->last = due;
    place = pipe->ring + ((pipe->head + pipe->count) & pipe->mask) * p->item;
    *(int64_t *)place = due;
    if (pipe->count++ == 0)
        pi2_winners_set(&p->heads, number, due);
    return place + sizeof due;
}

/* The content of the item that comes first, taken out; it stays valid until the next put. */
static inline const void *pi2_pipes_take(pi2_pipes *p)
{
    const uint32_t number = pi2_winners_first(&p->heads);
    pi2_pipe *pipe = p->pipes + number;
    const unsigned char *place = pipe->ring + (pipe->head++ & pipe->mask) * p->item;
    const unsigned char *next = pipe->ring + (pipe->head & pipe->mask) * p->item;
    pi2_winners_set(&p->heads, number, --pipe->count ? *(const int64_t *)next : INT64_MAX);
    pi2_prefetch(pipe->ring + ((pipe->head + PI2_PIPE_FETCHED) & pipe->mask) * p->item);
    return place + sizeof(int64_t);
}

/* The content of the item `ahead` places behind the first one in its pipe, NULL if there is none. */
static inline const void *pi2_pipes_ahead(const pi2_pipes *p, uint32_t ahead)
{
    const pi2_pipe *pipe = p->pipes + pi2_winners_first(&p->heads);
    if (pipe->count <= ahead)
        return NULL;
    return pipe->ring + ((pipe->head + ahead) & pipe->mask) * p->item + sizeof(int64_t);
}
