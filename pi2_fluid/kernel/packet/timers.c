/* Timers: a wheel of slots, and a heap of what comes before its slot or in the open one. */
#include "timers.h"

#include <stdlib.h>

#include "bits.h"
#include "qdisc.h"

int pi2_timers_new(pi2_timers *t, void *first, size_t stride, size_t count)
{
    t->first = first;
    t->stride = stride;
    t->heap_size = t->no_memory = 0;
    t->heap_room = 64;
    t->heap = malloc(t->heap_room * sizeof *t->heap);
    t->slot = 0;
    t->opens = t->due = PI2_NEVER;
    for (int i = 0; i < PI2_WHEEL_SLOTS; i++)
        t->heads[i] = PI2_NO_TIMER;
    for (int i = 0; i < PI2_WHEEL_SLOTS / 64; i++)
        t->occupied[i] = 0;
    for (uint32_t i = 0; i < count * PI2_TIMERS_EACH; i++)
        *pi2_timer_at(t, i) = (pi2_timer){PI2_NEVER, PI2_NO_SLOT, PI2_NO_TIMER};
    return t->heap != NULL;
}

void pi2_timers_free(pi2_timers *t)
{
    free(t->heap);
}

/* The heap */

static int earlier(pi2_deadline a, pi2_deadline b)
{
    return a.time < b.time || (a.time == b.time && a.number < b.number);
}

static void push(pi2_timers *t, pi2_deadline new)
{
    uint32_t hole = t->heap_size;
    if (hole == t->heap_room) {
        pi2_deadline *heap = realloc(t->heap, 2 * (size_t)t->heap_room * sizeof *heap);
        if (!heap) {
            t->no_memory = 1;
            return;
        }
        t->heap = heap;
        t->heap_room *= 2;
    }
    t->heap_size++;
    for (; hole > 0 && earlier(new, t->heap[(hole - 1) / 2]); hole = (hole - 1) / 2)
        t->heap[hole] = t->heap[(hole - 1) / 2];
    t->heap[hole] = new;
}

static uint32_t pop(pi2_timers *t)
{
    const uint32_t first = t->heap[0].number;
    const pi2_deadline last = t->heap[--t->heap_size];
    uint32_t hole = 0;
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= t->heap_size)
            break;
        if (child + 1 < t->heap_size && earlier(t->heap[child + 1], t->heap[child]))
            child++;
        if (!earlier(t->heap[child], last))
            break;
        t->heap[hole] = t->heap[child];
        hole = child;
    }
    t->heap[hole] = last;
    return first;
}

/* The wheel */

static void enter_slot(pi2_timers *t, pi2_timer *timer, uint32_t number, uint32_t slot)
{
    const unsigned place = slot % PI2_WHEEL_SLOTS;
    const int64_t opens = slot * PI2_SLOT;
    timer->slot = slot;
    timer->after = t->heads[place];
    t->heads[place] = number;
    t->occupied[place / 64] |= UINT64_C(1) << place % 64;
    if (opens < t->opens)
        t->opens = opens;
}

/* Into the wheel, whose farthest slot stands for all beyond it, or into the heap if its slot is open. */
static void insert(pi2_timers *t, pi2_timer *timer, uint32_t number)
{
    const int64_t slot = timer->deadline / PI2_SLOT, farthest = (int64_t)t->slot + PI2_WHEEL_SLOTS - 1;
    if (slot > t->slot)
        enter_slot(t, timer, number, (uint32_t)(slot < farthest ? slot : farthest));
    else
        push(t, (pi2_deadline){timer->deadline, number});
}

static void find_due(pi2_timers *t)
{
    t->due = t->heap_size && t->heap[0].time < t->opens ? t->heap[0].time : t->opens;
}

void pi2_timers_place(pi2_timers *t, pi2_timer *timer)
{
    const size_t bytes = (size_t)((char *)timer - t->first), group = bytes / t->stride;
    const uint32_t number = (uint32_t)(group * PI2_TIMERS_EACH + (bytes - group * t->stride) / sizeof *timer);
    if (timer->slot == PI2_NO_SLOT)
        insert(t, timer, number);
    else
        push(t, (pi2_deadline){timer->deadline, number});
    find_due(t);
}

/* When the next slot opens that holds timers. */
static int64_t next_opening(const pi2_timers *t)
{
    const unsigned words = PI2_WHEEL_SLOTS / 64, from = (t->slot + 1) % PI2_WHEEL_SLOTS;
    unsigned word = from / 64;
    uint64_t bits = t->occupied[word] & (~UINT64_C(0) << from % 64);
    for (unsigned i = 0; i <= words; i++) {
        if (bits) {
            const unsigned slot = word * 64 + pi2_lowest_bit(bits);
            return (t->slot + 1 + (slot + PI2_WHEEL_SLOTS - from) % PI2_WHEEL_SLOTS) * PI2_SLOT;
        }
        word = (word + 1) % words;
        bits = t->occupied[word];
    }
    return PI2_NEVER;
}

/* All timers of the slot that comes now: into the heap, put off, or forgotten. */
static void open_slot(pi2_timers *t, uint32_t slot)
{
    const unsigned place = slot % PI2_WHEEL_SLOTS;
    uint32_t number = t->heads[place];
    t->slot = slot;
    t->heads[place] = PI2_NO_TIMER;
    t->occupied[place / 64] &= ~(UINT64_C(1) << place % 64);
    t->opens = next_opening(t);
    while (number != PI2_NO_TIMER) {
        pi2_timer *timer = pi2_timer_at(t, number);
        const uint32_t after = timer->after;
        timer->slot = PI2_NO_SLOT;
        if (timer->deadline != PI2_NEVER)
            insert(t, timer, number);
        number = after;
    }
}

uint32_t pi2_timers_take(pi2_timers *t, int64_t now)
{
    uint32_t number = PI2_NO_TIMER;
    if (t->opens == now)
        open_slot(t, (uint32_t)(now / PI2_SLOT));
    if (t->heap_size && t->heap[0].time == now) {
        pi2_timer *timer;
        number = pop(t);
        timer = pi2_timer_at(t, number);
        if (timer->deadline == now)
            timer->deadline = PI2_NEVER;
        else
            number = PI2_NO_TIMER; /* put off, or stopped */
    }
    find_due(t);
    return number;
}
