#include "fluid/routes/entries.h"

double routes_reaches(const pi2_routes *run, const double *cubics, int component, double total, double whole)
{
    if (!(total > cubics[component]))
        return 0.0;
    if (total >= past_value(cubics, run->stored, component, whole))
        return whole;
    return past_reaches(cubics, run->stored, component, total, whole);
}

/* How long a segment of a stretch lasts: where the step in the making ends is not known yet. */
static double length_of(const pi2_routes *run, const fluid_reader *r, size_t i)
{
    const fluid_past *past = &run->past;
    const double start = past->start[past_slot(past, i)];
    if (i == past->length)
        return run->reach;
    return (i < r->last ? past->start[past_slot(past, i + 1)] : r->open ? run->now->t : r->high) - start;
}

void routes_find_entry(pi2_routes *run, const routes_queue *queue, double gone)
{
    routes_reader *its = run->readers + queue->entry;
    fluid_reader *r = &its->reader;
    const fluid_past *past = &run->past;
    size_t i = r->cursor;
    while (i < r->last && past_cubics(past, i + 1)[queue->entered] <= gone)
        i++;
    while (i > r->first && past_cubics(past, i)[queue->entered] > gone)
        i--;
    r->cursor = i;
    r->cubics = past_cubics(past, i);
    r->from = past->start[past_slot(past, i)];
    r->to = r->from; /* nothing is known of other instants */
    its->s = routes_reaches(run, r->cubics, queue->entered, gone, length_of(run, r, i));
    its->d = r->from + its->s;
    if (i == past->length)
        routes_overlap(run, its);
}
