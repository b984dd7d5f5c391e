/* Which of many comes first: the time of each, and a tree of winners over them. */
#pragma once

#include <stdint.h>

typedef struct {
    uint32_t leaves;   /* of the tree: a power of two */
    uint32_t *winners; /* node i of the tree: whose time comes first below it */
    int64_t *times;    /* ns, INT64_MAX: never */
    int64_t due;       /* ns: the earliest of them */
} pi2_winners;

/* All at INT64_MAX; 0 if there is no memory. */
int pi2_winners_new(pi2_winners *of, uint32_t count);
void pi2_winners_free(pi2_winners *of);

/* Whose time changes plays its matches again; a tie goes to the lower number. */
static inline void pi2_winners_set(pi2_winners *of, uint32_t number, int64_t time)
{
    of->times[number] = time;
    if (of->leaves == 1) {
        of->due = time;
        return;
    }
    for (uint32_t node = (of->leaves + number) / 2; node >= 1; node /= 2) {
        const uint32_t left = of->winners[2 * node], right = of->winners[2 * node + 1];
        of->winners[node] = of->times[right] < of->times[left] ? right : left;
    }
    of->due = of->times[of->winners[1]];
}

static inline uint32_t pi2_winners_first(const pi2_winners *of)
{
    return of->winners[1];
}
