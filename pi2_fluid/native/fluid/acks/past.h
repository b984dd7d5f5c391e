/* What has passed each place until each node of a growing grid of instants; older ones are forgotten.
 *
 * A node is a row of numbers: the time, then those of each queue, then those of each class and of its passages. Between
 * two nodes all of them are linear. Nodes are numbered from 0, where the time before 0 begins; node 1 is time 0. While a
 * step is tried, its end is the row behind the newest.
 */
#pragma once

#include <stddef.h>

/* Columns of a row: the time (s), 1 over how long it is after the last, a count of nothing; then those of each queue. */
enum { TIME, PER_SECOND, NOTHING, LINES };
/* Packets that have arrived and left; that wait; how long (s) what leaves has waited. */
enum { ARRIVED, SERVED, QUEUE, DELAY, PER_LINE };
/* Of a class: packets sent; segments cut of a flow, and their integral; the window. Passages say which are theirs. */
enum { SENT, CUT, CUT_INTEGRAL, SIZE, PER_SOURCE };

typedef struct {
    double *rows;
    size_t width;          /* numbers in a row */
    size_t slots;          /* rows that there is room for */
    size_t oldest, newest; /* where the rows of the nodes that are kept begin, in numbers */
} acks_past;

/* Where an instant lies: in the cell between two nodes, this part into it. */
typedef struct {
    const double *from, *to;
    double part;
} acks_place;

/* Returns 0 when there is no memory. */
int acks_past_create(acks_past *past, size_t width);
/* Puts the nodes that are kept at the beginning; returns by how many numbers they all begin earlier. */
size_t acks_past_compact(acks_past *past);
/* Whether what is kept takes more than a third of the room, so that it would soon be moved again. */
int acks_past_is_crowded(const acks_past *past);
/* Doubles the room; returns 0 when there is no memory. */
int acks_past_grow(acks_past *past);
void acks_past_destroy(acks_past *past);

/* The rows of the newest node, and of the one before it. */
static inline double *acks_newest(const acks_past *past)
{
    return past->rows + past->newest;
}

static inline const double *acks_before(const acks_past *past)
{
    return past->rows + past->newest - past->width;
}

/* Whether there is room for one more node. */
static inline int acks_has_room(const acks_past *past)
{
    return past->newest + past->width < past->slots * past->width;
}

/* Where a column that never falls reaches a value, of a plateau its end, at the end of the step that is tried the latest;
 * fast where asked for in order, for `cursor` is the cell found last, of those that are kept. */
static inline acks_place acks_find(const acks_past *past, size_t *cursor, size_t column, double value)
{
    const size_t width = past->width, last = past->newest;
    const double *rows = past->rows + column;
    size_t cell = *cursor;
    acks_place place;
    double rise;
    while (cell < last && rows[cell + width] <= value)
        cell += width;
    while (cell > past->oldest && rows[cell] > value) /* a step that was taken back looked further */
        cell -= width;
    *cursor = cell;
    place.from = past->rows + cell;
    place.to = place.from + width;
    rise = place.to[column] - place.from[column];
    place.part = rise > 0.0 ? (value - place.from[column]) / rise : 1.0;
    return place;
}

/* Where an instant `t` (s) lies, in the cell that begins with the row `last` at the latest. */
static inline acks_place acks_find_time(const acks_past *past, size_t *cursor, double t, const double *last)
{
    const size_t width = past->width;
    const double *at = past->rows + *cursor;
    acks_place place;
    while (at < last && at[width + TIME] <= t)
        at += width;
    while (at[TIME] > t && at > past->rows + past->oldest)
        at -= width;
    *cursor = (size_t)(at - past->rows);
    place.from = at;
    place.to = at + width;
    place.part = (t - place.from[TIME]) * place.to[PER_SECOND];
    return place;
}

static inline double acks_at(acks_place place, size_t column)
{
    const double before = place.from[column];
    return before + place.part * (place.to[column] - before);
}
