/* Where everyone reads the past, and the marks that they must not read across. */
#pragma once

#include "fluid/routes/run.h"

/* Whether open stretches go on into the step in the making. */
void routes_make_readable(pi2_routes *run, int readable);
/* Finds the stretch of a reader anew. */
void routes_stretch(pi2_routes *run, routes_reader *reader);
void routes_stretches(pi2_routes *run);
/* Stretches that reach up to now have grown, and what is forgotten cannot be read. */
void routes_follow(pi2_routes *run);
/* Whether a jump of a slope of a window, acting for a time, is more than the tolerance lets pass. */
static inline int routes_matters(const pi2_routes *run, double jump, double time, double window)
{
    return fabs(jump) * time > 0.1 * run->tolerance * (fabs(window) + 0.1);
}
/* Notes for a reader, or for all, that derivative `order` jumps now. */
void routes_mark(pi2_routes *run, routes_reader *reader, int order);
void routes_mark_all(pi2_routes *run);
/* Goes to where everyone reads from a point, after delays have jumped. */
void routes_seek(pi2_routes *run, const routes_point *at);
/* The same from the present, for those whose delay follows from queues. */
void routes_seek_back(pi2_routes *run);
/* The same for those who read what is happening now. */
void routes_seek_now(pi2_routes *run);
/* How far a reader, looking back from a point, is out of its stretch (s), and how fast it moves. */
typedef struct {
    double under, over; /* before the beginning, and beyond the end; < 0: inside */
    double speed;
} routes_place;
/* Whether one with an open stretch is well in it. */
static inline int routes_is_inside(const pi2_routes *run, const routes_reader *reader, const routes_point *at)
{
    double d = at->t - reader->delay;
    if (reader->kind == ENTRY)
        return 0;
    for (int k = 0; k < reader->queue_count; k++)
        d -= at->tau[reader->queues[k]];
    return d > reader->reader.low + run->close;
}
static inline routes_place routes_find_place(const pi2_routes *run, const routes_reader *reader, const routes_point *at)
{
    const fluid_reader *r = &reader->reader;
    routes_place place = {0.0, -INFINITY, 1.0};
    if (reader->kind == ENTRY) { /* by when it leaves: then all is as even as the link is */
        const routes_queue *queue = run->queues + reader->queue;
        const double gone = at->y[queue->entered] - at->y[queue->queue], served = at->served[reader->queue];
        place.under = (reader->low - gone) / served;
        place.over = r->open ? -INFINITY : (gone - reader->high) / served;
        return place;
    }
    double d = at->t - reader->delay;
    if (run->alone) {
        d -= at->tau[0];
        place.speed -= at->d_tau[0];
    } else
        for (int k = 0; k < reader->queue_count; k++) {
            d -= at->tau[reader->queues[k]];
            place.speed -= at->d_tau[reader->queues[k]];
        }
    place.under = r->low - d;
    place.over = r->open ? -INFINITY : d - r->high;
    return place;
}
