/* What has passed each place until each node of a growing grid of instants; older ones are forgotten.
 *
 * A node is a row of numbers: the time, then those of each line, then those of each class. Between two nodes all of
 * them are linear. Nodes are numbered from 0, where the time before 0 begins; node 1 is time 0.
 */
#pragma once

#include <stddef.h>

/* Columns of a row: the time (s), of each line, of each class. */
enum { TIME, LINES };
/* Packets that have arrived and left; that wait; how long (s) what leaves has waited. */
enum { ARRIVED, SERVED, QUEUE, DELAY, PER_LINE };
/* Packets sent and left; signals given to what has come, and to what has left; segments cut of a flow, and their
 * integral; the window. */
enum { SENT, LEFT, GIVEN, BORNE, CUT, CUT_INTEGRAL, SIZE, PER_CLASS };

typedef struct {
    double *rows;
    size_t width;          /* numbers in a row */
    size_t slots;          /* a power of two; node i lies in slot i & (slots - 1) */
    size_t oldest, newest; /* nodes that are kept */
} acks_past;

/* Where an instant lies: in the cell between two nodes, this part into it. */
typedef struct {
    const double *from, *to;
    double part;
} acks_place;

/* Both return 0 when there is no memory. */
int acks_past_create(acks_past *past, size_t width);
/* Makes room for one more node, if there is none among those that are kept; more than half of it stays free. */
int acks_past_make_room(acks_past *past);
void acks_past_destroy(acks_past *past);

/* Whether a slot is free for one more node. */
static inline int acks_has_room(const acks_past *past)
{
    return past->newest + 2 - past->oldest <= past->slots;
}

static inline double *acks_row(const acks_past *past, size_t node)
{
    return past->rows + (node & (past->slots - 1)) * past->width;
}

/* Where a column that never falls reaches a value, of a plateau its end; fast where asked for in order, for `cursor`
 * is the cell found last. */
static inline acks_place acks_find(const acks_past *past, size_t *cursor, size_t column, double value)
{
    const size_t last = past->newest - 1;
    size_t cell = *cursor < past->oldest ? past->oldest : *cursor;
    acks_place place;
    double width;
    while (cell < last && acks_row(past, cell + 1)[column] <= value)
        cell++;
    while (cell > past->oldest && acks_row(past, cell)[column] > value) /* a step that was taken back looked further */
        cell--;
    *cursor = cell;
    place.from = acks_row(past, cell);
    place.to = acks_row(past, cell + 1);
    width = place.to[column] - place.from[column];
    place.part = width > 0.0 ? (value - place.from[column]) / width : 1.0;
    return place;
}

static inline double acks_at(acks_place place, size_t column)
{
    const double before = place.from[column];
    return before + place.part * (place.to[column] - before);
}
