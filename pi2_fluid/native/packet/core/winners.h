/* Which of many comes first: the time of each, and a tree of winners over them. */
#pragma once

#include <stdint.h>

typedef struct {
    int64_t time;      /* ns, INT64_MAX: never */
    uint32_t number;
} pi2_winner;

typedef struct {
    uint32_t leaves;   /* of the tree: a power of two */
    pi2_winner *nodes; /* node i of the tree, from 1 on: who comes first below it; the leaves are the last of them */
    int64_t due;       /* ns: the earliest of them */
} pi2_winners;

/* All at INT64_MAX; 0 if there is no memory. */
int pi2_winners_new(pi2_winners *of, uint32_t count);
void pi2_winners_free(pi2_winners *of);

/* Whose time changes plays its matches again; a tie goes to the lower number. Nobody foresees who wins, so that nothing
 * branches: each match is an order of two numbers, and a mask. */
static inline void pi2_winners_set(pi2_winners *of, uint32_t number, int64_t time)
{
    uint32_t node = of->leaves + number;
    of->nodes[node] = (pi2_winner){time, number};
    for (; node > 1; node /= 2) {
        const pi2_winner other = of->nodes[node ^ 1];
        const uint32_t right = node & 1; /* then the other has the lower number */
        const uint32_t lost = other.time - (int64_t)right < time;
        time ^= (time ^ other.time) & -(int64_t)lost;
        number ^= (number ^ other.number) & -lost;
        of->nodes[node / 2] = (pi2_winner){time, number};
    }
    of->due = time;
}

static inline uint32_t pi2_winners_first(const pi2_winners *of)
{
    return of->nodes[1].number;
}
