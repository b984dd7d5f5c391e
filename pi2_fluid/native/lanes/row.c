/* Which numbers a row of the past holds, and what memory rows take. */
#include "lanes/row.h"

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

size_t pi2_lanes_past(const pi2_lanes_problem *p, size_t depth)
{
    return depth * (size_t)pi2_lanes_layout(p).fields * PI2_LANES;
}
