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
routes_place routes_find_place(const pi2_routes *run, const routes_reader *reader, const routes_point *at);
