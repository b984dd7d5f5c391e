/* Plain heaps; see plain_core.h. */
#include "packet/core/plain_core.h"

#include <stdlib.h>

#include "packet/core/time.h"

/* Timers */

int pi2_timers_new(pi2_timers *t, void *first, size_t stride, size_t count)
{
    *t = (pi2_timers){.due = PI2_NEVER};
    t->heap = malloc((count * PI2_TIMERS_EACH + 1) * sizeof *t->heap);
    for (uint32_t i = 0; i < count * PI2_TIMERS_EACH; i++) {
        pi2_timer *group = (pi2_timer *)((char *)first + i / PI2_TIMERS_EACH * stride);
        group[i % PI2_TIMERS_EACH] = (pi2_timer){PI2_NEVER, i, PI2_NO_TIMER, t};
    }
    return t->heap != NULL;
}

void pi2_timers_free(pi2_timers *t)
{
    free(t->heap);
}

static int timer_first(const pi2_timer *a, const pi2_timer *b)
{
    return a->deadline < b->deadline || (a->deadline == b->deadline && a->number < b->number);
}

static void lay(pi2_timers *t, uint32_t place, pi2_timer *timer)
{
    t->heap[place] = timer;
    timer->place = place;
}

/* Up or down from `place`, to where it belongs. */
static void sift(pi2_timers *t, uint32_t place, pi2_timer *timer)
{
    while (place > 0 && timer_first(timer, t->heap[(place - 1) / 2])) {
        lay(t, place, t->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (uint32_t child; (child = 2 * place + 1) < t->heap_size; place = child) {
        if (child + 1 < t->heap_size && timer_first(t->heap[child + 1], t->heap[child]))
            child++;
        if (!timer_first(t->heap[child], timer))
            break;
        lay(t, place, t->heap[child]);
    }
    lay(t, place, timer);
}

static void find_due(pi2_timers *t)
{
    t->due = t->heap_size ? t->heap[0]->deadline : PI2_NEVER;
}

void pi2_timer_stop(pi2_timer *timer)
{
    pi2_timers *t = timer->heap;
    const uint32_t place = timer->place;
    if (place == PI2_NO_TIMER)
        return;
    timer->deadline = PI2_NEVER;
    timer->place = PI2_NO_TIMER;
    if (place != --t->heap_size)
        sift(t, place, t->heap[t->heap_size]);
    find_due(t);
}

void pi2_timer_set(pi2_timers *t, pi2_timer *timer, int64_t deadline)
{
    pi2_timer_stop(timer);
    timer->deadline = deadline;
    sift(t, t->heap_size++, timer);
    find_due(t);
}

uint32_t pi2_timers_take(pi2_timers *t, int64_t now)
{
    const uint32_t number = t->heap[0]->number;
    (void)now;
    pi2_timer_stop(t->heap[0]);
    return number;
}

/* Pipes */

int pi2_pipes_new(pi2_pipes *p, const int64_t *delays, uint32_t count, size_t content)
{
    *p = (pi2_pipes){.content = content, .due = PI2_NEVER};
    p->pipes = malloc(((size_t)count + 1) * sizeof *p->pipes);
    for (uint32_t i = 0; p->pipes && i < count; i++)
        p->pipes[i] = (pi2_pipe){delays[i], INT64_MIN};
    return p->pipes != NULL;
}

void pi2_pipes_free(pi2_pipes *p)
{
    for (size_t i = 0; i < p->heap_size; i++)
        free(p->heap[i].content);
    free(p->heap);
    free(p->taken);
    free(p->pipes);
}

static int item_first(const pi2_item *a, const pi2_item *b)
{
    if (a->due != b->due)
        return a->due < b->due;
    return a->pipe < b->pipe || (a->pipe == b->pipe && a->order < b->order);
}

static int room(pi2_pipes *p)
{
    const size_t more = p->heap_room ? 2 * p->heap_room : 64;
    pi2_item *heap;
    if (p->heap_size < p->heap_room)
        return 1;
    heap = realloc(p->heap, more * sizeof *heap);
    if (!heap)
        return 0;
    p->heap = heap;
    p->heap_room = more;
    return 1;
}

void *pi2_pipes_put(pi2_pipes *p, uint32_t number, int64_t due)
{
    pi2_pipe *pipe = p->pipes + number;
    size_t place = p->heap_size;
    pi2_item item = {.due = due > pipe->last ? due : pipe->last, .order = p->entered++, .pipe = number};
    free(p->taken); /* whoever still looks at it is caught */
    p->taken = NULL;
    item.content = room(p) ? malloc(p->content) : NULL;
    if (!item.content)
        return NULL;
    pipe->last = item.due;
    for (p->heap_size++; place > 0 && item_first(&item, p->heap + (place - 1) / 2); place = (place - 1) / 2)
        p->heap[place] = p->heap[(place - 1) / 2];
    p->heap[place] = item;
    p->due = p->heap[0].due;
    return item.content;
}

const void *pi2_pipes_take(pi2_pipes *p)
{
    const pi2_item last = p->heap[--p->heap_size];
    size_t place = 0;
    free(p->taken);
    p->taken = p->heap[0].content;
    for (size_t child; (child = 2 * place + 1) < p->heap_size; place = child) {
        if (child + 1 < p->heap_size && item_first(p->heap + child + 1, p->heap + child))
            child++;
        if (!item_first(p->heap + child, &last))
            break;
        p->heap[place] = p->heap[child];
    }
    p->heap[place] = last;
    p->due = p->heap_size ? p->heap[0].due : PI2_NEVER;
    return p->taken;
}

/* Winners */

int pi2_winners_new(pi2_winners *of, uint32_t count)
{
    *of = (pi2_winners){.count = count, .due = PI2_NEVER};
    of->heap = malloc(((size_t)count + 1) * sizeof *of->heap);
    of->places = malloc(((size_t)count + 1) * sizeof *of->places);
    for (uint32_t i = 0; of->heap && of->places && i < count; i++) {
        of->heap[i] = (pi2_coming){PI2_NEVER, i};
        of->places[i] = i;
    }
    return of->heap && of->places;
}

void pi2_winners_free(pi2_winners *of)
{
    free(of->heap);
    free(of->places);
}

static int comes_first(pi2_coming a, pi2_coming b)
{
    return a.time < b.time || (a.time == b.time && a.number < b.number);
}

static void stand(pi2_winners *of, uint32_t place, pi2_coming one)
{
    of->heap[place] = one;
    of->places[one.number] = place;
}

void pi2_winners_set(pi2_winners *of, uint32_t number, int64_t time)
{
    const pi2_coming one = {time, number};
    uint32_t place = of->places[number];
    for (; place > 0 && comes_first(one, of->heap[(place - 1) / 2]); place = (place - 1) / 2)
        stand(of, place, of->heap[(place - 1) / 2]);
    for (uint32_t child; (child = 2 * place + 1) < of->count; place = child) {
        if (child + 1 < of->count && comes_first(of->heap[child + 1], of->heap[child]))
            child++;
        if (!comes_first(of->heap[child], one))
            break;
        stand(of, place, of->heap[child]);
    }
    stand(of, place, one);
    of->due = of->heap[0].time;
}
