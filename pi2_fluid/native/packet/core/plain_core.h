/* The plain twin of timers.h, pipes.h and winners.h: the same functions over one binary heap each, for comparison.
 *
 * No wheel, no rings, no trees: every deadline, every item and every link has its own entry. A run built with PI2_PLAIN_CORE must
 * count the same as one without, but for the events that only put a timer off. Slow, and made for tests alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Timers, by (deadline, number) */

#define PI2_NO_TIMER UINT32_MAX

enum { PI2_TIMERS_EACH = 4 };

typedef struct {
    int64_t deadline;    /* ns, INT64_MAX: stopped */
    uint32_t number;
    uint32_t place;      /* in the heap; PI2_NO_TIMER: it is stopped */
    struct pi2_timers *heap;
} pi2_timer;

typedef struct pi2_timers {
    pi2_timer **heap;    /* those that run */
    uint32_t heap_size;
    int no_memory;       /* never: there is room for all from the beginning */
    int64_t due;         /* ns: when the next timer is due, INT64_MAX if none is */
} pi2_timers;

/* As in timers.h, where the timers lie in groups of four. */
int pi2_timers_new(pi2_timers *timers, void *first, size_t stride, size_t count);
void pi2_timers_free(pi2_timers *timers);
void pi2_timer_set(pi2_timers *timers, pi2_timer *timer, int64_t deadline);
void pi2_timer_stop(pi2_timer *timer);
uint32_t pi2_timers_take(pi2_timers *timers, int64_t now);

/* Pipes, by (due, pipe, order of entry) */

#define PI2_NO_PIPE UINT32_MAX

typedef struct {
    int64_t delay;       /* ns */
    int64_t last;        /* ns: when its youngest item is due */
} pi2_pipe;

typedef struct {
    int64_t due;         /* ns */
    uint64_t order;      /* of entry */
    void *content;       /* its own block of memory */
    uint32_t pipe;
} pi2_item;

typedef struct {
    pi2_pipe *pipes;
    pi2_item *heap;
    size_t heap_size, heap_room;
    size_t content;      /* bytes */
    uint64_t entered;
    void *taken;         /* the content that was given out last */
    int64_t due;         /* ns: when the first item is due, PI2_NEVER if there is none */
} pi2_pipes;

int pi2_pipes_new(pi2_pipes *pipes, const int64_t *delays, uint32_t count, size_t content);
void pi2_pipes_free(pi2_pipes *pipes);
void *pi2_pipes_put(pi2_pipes *pipes, uint32_t pipe, int64_t due);
const void *pi2_pipes_take(pi2_pipes *pipes);

static inline int64_t pi2_pipes_due(const pi2_pipes *pipes)
{
    return pipes->due;
}

/* Nothing lies in a row that could be called for ahead. */
static inline const void *pi2_pipes_ahead(const pi2_pipes *pipes, uint32_t ahead)
{
    (void)pipes, (void)ahead;
    return NULL;
}

/* Which of many comes first, by (time, number) */

typedef struct {
    int64_t time;        /* ns */
    uint32_t number;
} pi2_coming;

typedef struct {
    pi2_coming *heap;    /* all of them, those that never come last */
    uint32_t *places;    /* where each is in it */
    uint32_t count;
    int64_t due;         /* ns: when the first comes */
} pi2_winners;

int pi2_winners_new(pi2_winners *of, uint32_t count);
void pi2_winners_free(pi2_winners *of);
void pi2_winners_set(pi2_winners *of, uint32_t number, int64_t time);

static inline uint32_t pi2_winners_first(const pi2_winners *of)
{
    return of->heap[0].number;
}
