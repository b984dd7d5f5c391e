/* Timers: one deadline for each, most of which never come.
 *
 * Deadlines are moved with every packet and rarely reached, so moving one later costs nothing: the timer stays where
 * it is and is looked at again when that place comes. Places are slots of a wheel, 1 ms each; the timers of the slot
 * that has come lie in a heap, which yields them in the order (deadline, number). The wheel is an economy only: what
 * it yields is what a plain heap of all deadlines would.
 */
#ifndef PI2_PACKET_TIMERS_H
#define PI2_PACKET_TIMERS_H

#include <stddef.h>
#include <stdint.h>

#define PI2_NO_TIMER UINT32_MAX

enum { PI2_WHEEL_SLOTS = 1024 };

typedef struct {
    int64_t deadline;    /* ns, PI2_NEVER: stopped */
    int64_t place;       /* ns: when it is looked at next, PI2_NEVER: nowhere */
    uint32_t after, before; /* neighbours in its slot */
} pi2_timer;

typedef struct {
    pi2_timer *timers;
    uint32_t *heap;      /* numbers of the timers whose slot has come, by (place, number) */
    uint32_t heap_size;
    int64_t slot;        /* the slot that has come, ms */
    int64_t due;         /* ns: when the next timer may be due, PI2_NEVER if none can be */
    uint32_t heads[PI2_WHEEL_SLOTS];
    uint64_t occupied[PI2_WHEEL_SLOTS / 64];
} pi2_timers;

/* 0 if there is no memory. */
int pi2_timers_new(pi2_timers *timers, size_t count);
void pi2_timers_free(pi2_timers *timers);
/* Puts a timer where it belongs after its deadline came closer than its place. */
void pi2_timers_place(pi2_timers *timers, uint32_t number);
/* Takes the timer that is due at `now` = timers->due, or PI2_NO_TIMER if it was put off meanwhile. */
uint32_t pi2_timers_take(pi2_timers *timers, int64_t now);

static inline void pi2_timer_set(pi2_timers *timers, uint32_t number, int64_t deadline)
{
    pi2_timer *timer = timers->timers + number;
    timer->deadline = deadline;
    if (deadline < timer->place)
        pi2_timers_place(timers, number);
}

static inline void pi2_timer_stop(pi2_timers *timers, uint32_t number)
{
    timers->timers[number].deadline = INT64_MAX;
}

#endif
