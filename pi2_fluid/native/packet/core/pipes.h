/* Pipes: what is under way with one and the same delay comes out in the order in which it went in, so that a ring is
 * all it needs. There is one for each different delay, and a tree of winners over their heads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    unsigned char *ring; /* of mask + 1 items, a power of two: int64_t due, then the content */
    uint32_t mask, head, count;
    int64_t delay;       /* ns */
    int64_t last;        /* ns: when its youngest item is due */
} pi2_pipe;

typedef struct {
    pi2_pipe *pipes;
    uint32_t count, leaves; /* leaves of the tree: a power of two */
    uint32_t *winners;      /* node i of the tree: the pipe whose head comes first below it */
    int64_t *heads;         /* when the head of each pipe is due, PI2_NEVER if it is empty */
    int64_t due;            /* ns: when the first item is due, PI2_NEVER if there is none */
    size_t item;            /* bytes of an item, `due` included; a multiple of 8 */
} pi2_pipes;

#define PI2_NO_PIPE UINT32_MAX

/* `content` bytes each; 0 if there is no memory. */
int pi2_pipes_new(pi2_pipes *pipes, uint32_t most, size_t content);
void pi2_pipes_free(pi2_pipes *pipes);
/* The number of the pipe with that delay, made if there is none yet; PI2_NO_PIPE if there is no memory. */
uint32_t pi2_pipes_find(pi2_pipes *pipes, int64_t delay);
/* A ring of twice the size; 0 if there is no memory. */
int pi2_pipe_grow(const pi2_pipes *pipes, pi2_pipe *pipe);

/* Whose head changed plays its matches again; a tie goes to the lower number. */
static inline void pi2_pipes_replay(pi2_pipes *p, uint32_t pipe)
{
    for (uint32_t node = (p->leaves + pipe) / 2; node >= 1; node /= 2) {
        const uint32_t left = p->winners[2 * node], right = p->winners[2 * node + 1];
        p->winners[node] = p->heads[right] < p->heads[left] ? right : left;
    }
    p->due = p->heads[p->winners[1]];
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
    if (pipe->count++ == 0) {
        p->heads[number] = due;
        pi2_pipes_replay(p, number);
    }
    return place + sizeof due;
}

/* The content of the item that comes first, taken out; it stays valid until the next put. */
static inline const void *pi2_pipes_take(pi2_pipes *p)
{
    const uint32_t number = p->winners[1];
    pi2_pipe *pipe = p->pipes + number;
    const unsigned char *place = pipe->ring + (pipe->head++ & pipe->mask) * p->item;
    p->heads[number] =
        --pipe->count ? *(const int64_t *)(pipe->ring + (pipe->head & pipe->mask) * p->item) : INT64_MAX;
    pi2_pipes_replay(p, number);
    return place + sizeof(int64_t);
}

/* The content of the item `ahead` places behind the first one in its pipe, NULL if there is none. */
static inline const void *pi2_pipes_ahead(const pi2_pipes *p, uint32_t ahead)
{
    const pi2_pipe *pipe = p->pipes + p->winners[1];
    if (pipe->count <= ahead)
        return NULL;
    return pipe->ring + ((pipe->head + ahead) & pipe->mask) * p->item + sizeof(int64_t);
}
