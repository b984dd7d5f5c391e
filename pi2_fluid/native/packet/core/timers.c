/* Timers: a wheel of slots, and a heap of what is due within the open one. */
#include "packet/core/timers.h"

#include <stdlib.h>

#include "packet/core/bits.h"
#include "packet/core/time.h"

enum { AHEAD = 8 }; /* timers called for while others are looked at: with many flows they are far away */

int pi2_timers_new(pi2_timers *t, void *first, size_t stride, size_t count)
{
    *t = (pi2_timers){.first = first, .stride = stride, .heap_room = 64, .opens = PI2_NEVER, .due = PI2_NEVER};
    t->heap = malloc(t->heap_room * sizeof *t->heap);
    for (uint32_t i = 0; i < count * PI2_TIMERS_EACH; i++)
        *pi2_timer_at(t, i) = (pi2_timer){PI2_NEVER, PI2_NO_SLOT, i};
    return t->heap != NULL;
}

void pi2_timers_free(pi2_timers *t)
{
    free(t->heap);
    for (int i = 0; i < PI2_WHEEL_SLOTS; i++)
        free(t->slots[i].numbers);
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

static void note(pi2_timers *t, pi2_timer *timer, uint32_t slot)
{
    const unsigned place = slot % PI2_WHEEL_SLOTS;
    pi2_slot *s = t->slots + place;
    const int64_t opens = slot * PI2_SLOT;
    if (s->size == s->room) {
        const uint32_t room = s->room ? 2 * s->room : 16;
        uint32_t *numbers = realloc(s->numbers, room * sizeof *numbers);
        if (!numbers) {
            t->no_memory = 1;
            return;
        }
        s->numbers = numbers;
        s->room = room;
    }
    s->numbers[s->size++] = timer->number;
    timer->slot = slot;
    t->occupied[place / 64] |= UINT64_C(1) << place % 64;
    if (opens < t->opens)
        t->opens = opens;
}

/* In the wheel, whose farthest slot stands for all beyond it, or in the heap if its slot is open. */
static void insert(pi2_timers *t, pi2_timer *timer)
{
    const int64_t slot = timer->deadline / PI2_SLOT, farthest = (int64_t)t->slot + PI2_WHEEL_SLOTS - 1;
    if (slot > t->slot) {
        note(t, timer, (uint32_t)(slot < farthest ? slot : farthest));
    } else {
        timer->slot = PI2_NO_SLOT;
        push(t, (pi2_deadline){timer->deadline, timer->number});
    }
}

static void find_due(pi2_timers *t)
{
    t->due = t->heap_size && t->heap[0].time < t->opens ? t->heap[0].time : t->opens;
}

void pi2_timers_note(pi2_timers *t, pi2_timer *timer)
{
    insert(t, timer);
    find_due(t);
}

/* When the next slot opens in which timers are noted. */
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

/* All timers noted in the slot that comes now: into the heap, put off, or forgotten. */
static void open_slot(pi2_timers *t, uint32_t slot)
{
    const unsigned place = slot % PI2_WHEEL_SLOTS;
    pi2_slot *s = t->slots + place;
    t->slot = slot;
    t->occupied[place / 64] &= ~(UINT64_C(1) << place % 64);
    t->opens = next_opening(t);
    for (uint32_t i = 0; i < s->size; i++) {
        pi2_timer *timer = pi2_timer_at(t, s->numbers[i]);
        if (i + AHEAD < s->size)
            pi2_prefetch(pi2_timer_at(t, s->numbers[i + AHEAD]));
        if (timer->slot != slot)
            continue;
        timer->slot = PI2_NO_SLOT;
        if (timer->deadline != PI2_NEVER)
            insert(t, timer);
    }
    s->size = 0;
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
