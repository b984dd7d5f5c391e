/* Which numbers a row of the past holds, and what memory rows take. */
#include "lanes/row.h"

#include "lanes/lanes.h"
#include "laws/operations.h"

pi2_lanes_row pi2_lanes_layout(const pi2_lanes_problem *p)
{
    pi2_lanes_row row = {.queue = 0, .per_capacity = -1, .signal = {1, -1}, .end = {-1, -1}, .fields = 2};
    if (pi2_lanes_has_two_signals(p))
        row.signal[1] = row.fields++;
    for (int s = 0; s < 2; s++)
        if (p->follows && row.signal[s] >= 0)
            row.end[s] = row.fields++;
    if (p->events > 0)
        row.per_capacity = row.fields++;
    for (int i = 0; i < p->classes; i++) {
        const pi2_lanes_class *c = &p->class_[i];
        row.window[i] = c->law == PI2_LANES_CBR ? -1 : row.fields++;
        for (int j = 1; j < PI2_LANES_STATES; j++)
            row.more[i][j - 1] = j < c->states && (c->reads >> j & 1u) ? row.fields++ : -1;
    }
    return row;
}

int pi2_lanes_operands(int code)
{
#define COUNT(name, operands, ...) [PI2_TAPE_##name] = operands,
    static const signed char counts[] = {PI2_TAPE_OPERATIONS(COUNT, COUNT)};
#undef COUNT
    return counts[code];
}

/* All tapes of a problem one after the other, NULL behind the last. */
static pi2_lanes_tape *tape_at(pi2_lanes_problem *p, int place)
{
    pi2_lanes_queue *const q = &p->queue;
    pi2_lanes_tape *const own[] = {&q->update, &q->flow, &q->drift, &q->saturate, &q->controller, &q->signals, &q->thin};
    const int count = (int)(sizeof own / sizeof *own), of_class = place - count;
    if (place < count)
        return own[place];
    if (of_class >= 2 * p->classes)
        return NULL;
    return of_class % 2 ? &p->class_[of_class / 2].leave : &p->class_[of_class / 2].rate;
}

/* Rows of lanes, the first of which all tapes share for what they compute on the way. */
void pi2_lanes_prepare(pi2_lanes_problem *p)
{
    size_t longest = 0;
    for (int j = 0; tape_at(p, j); j++)
        longest = (size_t)tape_at(p, j)->rows > longest ? (size_t)tape_at(p, j)->rows : longest;
    p->kept = longest;
    for (int j = 0; tape_at(p, j); j++) {
        pi2_lanes_tape *const tape = tape_at(p, j);
        tape->kept = p->kept;
        p->kept += (size_t)(tape->parameters + tape->constants);
    }
}

size_t pi2_lanes_past(const pi2_lanes_problem *p, size_t depth)
{
    return depth * (size_t)pi2_lanes_layout(p).fields * PI2_LANES;
}
