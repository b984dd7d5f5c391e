#include "fluid/routes/entries.h"

double routes_reaches(const double *cubics, int n, int component, double total, double whole)
{
    const double *c = cubics + component;
    const double c0 = c[0], c1 = c[n], c2 = c[2 * n], c3 = c[3 * n];
    const double rise = whole * (c1 + whole * (c2 + whole * c3)), sought = total - c0;
    double low = 0.0, high = whole, s;
    if (!(sought > 0.0))
        return 0.0;
    if (sought >= rise)
        return whole;
    s = whole * (sought / rise);
    for (int trial = 0; trial < 60; trial++) {
        const double over = s * (c1 + s * (c2 + s * c3)) - sought, rate = c1 + s * (2.0 * c2 + 3.0 * s * c3);
        double next = s - over / rate;
        if (fabs(next - s) <= 1e-9 * whole && next >= 0.0 && next <= whole)
            return next; /* the next step would move it by a rounding error */
        if (over < 0.0)
            low = s > low ? s : low;
        else
            high = s < high ? s : high;
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (next == low || next == high)
            return high;
        s = next;
    }
    return s;
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

void routes_find_entry(pi2_routes *run, const routes_node *node, double gone)
{
    routes_reader *its = run->readers + node->entry;
    fluid_reader *r = &its->reader;
    const fluid_past *past = &run->past;
    size_t i = r->cursor;
    while (i < r->last && past_cubics(past, i + 1)[node->entered] <= gone)
        i++;
    while (i > r->first && past_cubics(past, i)[node->entered] > gone)
        i--;
    r->cursor = i;
    r->cubics = past_cubics(past, i);
    r->from = past->start[past_slot(past, i)];
    r->to = r->from; /* nothing is known of other instants */
    its->s = routes_reaches(r->cubics, run->stored, node->entered, gone, length_of(run, r, i));
    its->d = r->from + its->s;
    if (i == past->length)
        routes_overlap(run, its);
}
