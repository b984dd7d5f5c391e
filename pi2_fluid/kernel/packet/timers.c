/* Timers: a wheel of slots, and a heap of what has come. */
#include "timers.h"

#include <stdlib.h>

#include "bits.h"
#include "qdisc.h"

static const int64_t SLOT = 1000000; /* ns */

int pi2_timers_new(pi2_timers *timers, size_t count)
{
    timers->timers = malloc(count * sizeof *timers->timers);
    timers->heap = malloc(count * sizeof *timers->heap);
    timers->heap_size = 0;
    timers->slot = 0;
    timers->due = PI2_NEVER;
    for (int i = 0; i < PI2_WHEEL_SLOTS; i++)
        timers->heads[i] = PI2_NO_TIMER;
    for (int i = 0; i < PI2_WHEEL_SLOTS / 64; i++)
        timers->occupied[i] = 0;
    if (!timers->timers || !timers->heap)
        return 0;
    for (size_t i = 0; i < count; i++)
        timers->timers[i] = (pi2_timer){PI2_NEVER, PI2_NEVER, PI2_NO_TIMER, PI2_NO_TIMER};
    return 1;
}

void pi2_timers_free(pi2_timers *timers)
{
    free(timers->timers);
    free(timers->heap);
}

/* The heap of the slot that has come */

static int earlier(const pi2_timers *t, uint32_t a, uint32_t b)
{
    const int64_t at = t->timers[a].place, bt = t->timers[b].place;
    return at < bt || (at == bt && a < b);
}

static void sift_up(pi2_timers *t, uint32_t hole, uint32_t number)
{
    while (hole > 0) {
        const uint32_t parent = (hole - 1) / 2;
        if (!earlier(t, number, t->heap[parent]))
            break;
        t->heap[hole] = t->heap[parent];
        hole = parent;
    }
    t->heap[hole] = number;
}

static void sift_down(pi2_timers *t, uint32_t hole, uint32_t number)
{
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= t->heap_size)
            break;
        if (child + 1 < t->heap_size && earlier(t, t->heap[child + 1], t->heap[child]))
            child++;
        if (!earlier(t, t->heap[child], number))
            break;
        t->heap[hole] = t->heap[child];
        hole = child;
    }
    t->heap[hole] = number;
}

static void leave_heap(pi2_timers *t, uint32_t hole)
{
    const uint32_t last = t->heap[--t->heap_size];
    if (hole == t->heap_size)
        return;
    if (hole > 0 && earlier(t, last, t->heap[(hole - 1) / 2]))
        sift_up(t, hole, last);
    else
        sift_down(t, hole, last);
}

/* The wheel */

static void leave_slot(pi2_timers *t, uint32_t number)
{
    pi2_timer *timer = t->timers + number;
    const unsigned slot = (unsigned)(timer->place / SLOT % PI2_WHEEL_SLOTS);
    if (timer->before != PI2_NO_TIMER)
        t->timers[timer->before].after = timer->after;
    else
        t->heads[slot] = timer->after;
    if (timer->after != PI2_NO_TIMER)
        t->timers[timer->after].before = timer->before;
    if (t->heads[slot] == PI2_NO_TIMER)
        t->occupied[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

static void enter_slot(pi2_timers *t, uint32_t number, int64_t slot_ms)
{
    pi2_timer *timer = t->timers + number;
    const unsigned slot = (unsigned)(slot_ms % PI2_WHEEL_SLOTS);
    timer->place = slot_ms * SLOT;
    timer->before = PI2_NO_TIMER;
    timer->after = t->heads[slot];
    if (timer->after != PI2_NO_TIMER)
        t->timers[timer->after].before = number;
    t->heads[slot] = number;
    t->occupied[slot / 64] |= UINT64_C(1) << slot % 64;
}

/* Into the heap if its slot has come, else into the wheel: the farthest slot stands for all beyond it. */
static void insert(pi2_timers *t, uint32_t number)
{
    pi2_timer *timer = t->timers + number;
    const int64_t slot = timer->deadline / SLOT, farthest = t->slot + PI2_WHEEL_SLOTS - 1;
    if (slot > t->slot) {
        enter_slot(t, number, slot < farthest ? slot : farthest);
        return;
    }
    timer->place = timer->deadline;
    sift_up(t, t->heap_size++, number);
}

/* The next slot that holds timers, ms; PI2_NEVER if none does. */
static int64_t next_slot(const pi2_timers *t)
{
    const unsigned words = PI2_WHEEL_SLOTS / 64, from = (unsigned)((t->slot + 1) % PI2_WHEEL_SLOTS);
    unsigned word = from / 64;
    uint64_t bits = t->occupied[word] & (~UINT64_C(0) << from % 64);
    for (unsigned i = 0; i <= words; i++) {
        if (bits)
            return t->slot + 1 + (word * 64 + pi2_lowest_bit(bits) + PI2_WHEEL_SLOTS - from) % PI2_WHEEL_SLOTS;
        word = (word + 1) % words;
        bits = t->occupied[word];
    }
    return PI2_NEVER;
}

static int64_t next_due(const pi2_timers *t)
{
    int64_t slot;
    if (t->heap_size)
        return t->timers[t->heap[0]].place;
    slot = next_slot(t);
    return slot == PI2_NEVER ? PI2_NEVER : slot * SLOT;
}

void pi2_timers_place(pi2_timers *t, uint32_t number)
{
    pi2_timer *timer = t->timers + number;
    if (timer->place / SLOT > t->slot && timer->place != PI2_NEVER) {
        leave_slot(t, number);
    } else if (timer->place != PI2_NEVER) {
        uint32_t hole = 0;
        while (t->heap[hole] != number)
            hole++;
        leave_heap(t, hole);
    }
    insert(t, number);
    t->due = next_due(t);
}

/* All timers of the slot that comes now: into the heap, put off, or forgotten. */
static void open_slot(pi2_timers *t, int64_t slot_ms)
{
    const unsigned slot = (unsigned)(slot_ms % PI2_WHEEL_SLOTS);
    uint32_t number = t->heads[slot];
    t->slot = slot_ms;
    t->heads[slot] = PI2_NO_TIMER;
    t->occupied[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    while (number != PI2_NO_TIMER) {
        pi2_timer *timer = t->timers + number;
        const uint32_t after = timer->after;
        timer->place = PI2_NEVER;
        if (timer->deadline != PI2_NEVER)
            insert(t, number);
        number = after;
    }
}

uint32_t pi2_timers_take(pi2_timers *t, int64_t now)
{
    uint32_t number = PI2_NO_TIMER;
    if (!t->heap_size)
        open_slot(t, now / SLOT);
    if (t->heap_size && t->timers[t->heap[0]].place == now) {
        pi2_timer *timer = t->timers + t->heap[0];
        number = t->heap[0];
        leave_heap(t, 0);
        timer->place = PI2_NEVER;
        if (timer->deadline == now) {
            timer->deadline = PI2_NEVER;
        } else { /* put off, or stopped */
            if (timer->deadline != PI2_NEVER)
                insert(t, number);
            number = PI2_NO_TIMER;
        }
    }
    t->due = next_due(t);
    return number;
}
