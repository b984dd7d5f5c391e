/* Timers: one deadline for each, most of which never come.
 *
 * Deadlines are moved with every packet and rarely reached, so moving one later costs nothing: a timer is noted in a
 * slot of a wheel, 1 ms each, and looked at when that slot opens. Noted again in an earlier slot, its old note is void.
 * What is due within the open slot goes into a heap of (deadline, number), void as well unless the timer's deadline is
 * still the same. The wheel is an economy only: what comes out, and in which order, is what a plain heap of all
 * deadlines would yield.
 *
 * The timers themselves lie in the flows, four in each, so that they are at hand with them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PI2_NO_TIMER UINT32_MAX
#define PI2_NO_SLOT UINT32_MAX
#define PI2_SLOT INT64_C(1000000) /* ns */

enum { PI2_WHEEL_SLOTS = 1024, PI2_TIMERS_EACH = 4 };

typedef struct {
    int64_t deadline; /* ns, INT64_MAX: stopped */
    uint32_t slot;    /* ms: the slot in which it is noted, PI2_NO_SLOT: in none */
    uint32_t number;
} pi2_timer;

typedef struct {
    int64_t time; /* ns */
    uint32_t number;
} pi2_deadline;

typedef struct {
    uint32_t *numbers;
    uint32_t size, room;
} pi2_slot;

typedef struct {
    char *first;         /* timers 0 to 3 */
    size_t stride;       /* bytes from there to timers 4 to 7, and so on */
    pi2_deadline *heap;
    uint32_t heap_size, heap_room;
    int no_memory;       /* set when there was no room: the run must end */
    uint32_t slot;       /* the slot that is open, ms */
    int64_t opens;       /* ns: when the next slot opens in which timers are noted, INT64_MAX if in none */
    int64_t due;         /* ns: when a timer may be due, INT64_MAX if none can be */
    pi2_slot slots[PI2_WHEEL_SLOTS];
    uint64_t occupied[PI2_WHEEL_SLOTS / 64];
} pi2_timers;

/* `count` groups of four timers; 0 if there is no memory. */
int pi2_timers_new(pi2_timers *timers, void *first, size_t stride, size_t count);
void pi2_timers_free(pi2_timers *timers);
/* Notes a timer where it belongs after its deadline came closer than its slot. */
void pi2_timers_note(pi2_timers *timers, pi2_timer *timer);
/* Takes the timer that is due at `now` = timers->due, or PI2_NO_TIMER: a slot opened, no more, or it was put off. */
uint32_t pi2_timers_take(pi2_timers *timers, int64_t now);

static inline pi2_timer *pi2_timer_at(const pi2_timers *timers, uint32_t number)
{
    return (pi2_timer *)(timers->first + number / PI2_TIMERS_EACH * timers->stride) + number % PI2_TIMERS_EACH;
}

static inline void pi2_timer_set(pi2_timers *timers, pi2_timer *timer, int64_t deadline)
{
    timer->deadline = deadline;
    if (deadline < timer->slot * PI2_SLOT)
        pi2_timers_note(timers, timer);
}

static inline void pi2_timer_stop(pi2_timer *timer)
{
    timer->deadline = INT64_MAX;
}
