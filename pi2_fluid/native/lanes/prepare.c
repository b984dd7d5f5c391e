/* Where the tapes of a problem keep their numbers. */
#include "lanes/prepare.h"

#include <stddef.h>

#include "laws/operations.h"

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
