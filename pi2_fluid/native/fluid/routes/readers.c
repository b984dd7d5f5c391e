#include "fluid/routes/readers.h"

static double entered_at(const pi2_routes *run, const routes_reader *reader, double t, size_t segment)
{
    const double *c = past_cubics(&run->past, segment);
    const double start = run->past.start[past_slot(&run->past, segment)];
    return past_value(c, run->stored, run->queues[reader->queue].entered, t - start);
}

static void open(pi2_routes *run, fluid_reader *r)
{
    r->last = run->readable ? run->past.length : run->past.length - 1;
    r->high = run->readable ? INFINITY : run->now->t;
}

void routes_make_readable(pi2_routes *run, int readable)
{
    if (run->readable == readable)
        return;
    run->readable = readable;
    for (int k = 0; k < run->reader_count; k++)
        if (run->readers[k].reader.open)
            routes_stretch(run, run->readers + k);
}

void routes_stretch(pi2_routes *run, routes_reader *reader)
{
    fluid_reader *r = &reader->reader;
    reader_stretch(r, &run->past, run->now->t);
    if (r->open && run->readable) {
        open(run, r);
        if (r->marks[r->place].index >= run->past.length)
            r->first = r->cursor = run->past.length;
    }
    if (reader->kind == ENTRY) {
        const size_t first = r->marks[r->place].index;
        reader->low = r->low <= BEGINNING              ? -INFINITY
                      : first >= run->past.length      ? run->now->y[run->queues[reader->queue].entered]
                      : first < run->past.oldest       ? -INFINITY
                                                       : entered_at(run, reader, r->low, first);
        reader->high = r->open ? INFINITY : entered_at(run, reader, r->high, r->last);
    }
}

void routes_stretches(pi2_routes *run)
{
    for (int r = 0; r < run->reader_count; r++)
        routes_stretch(run, run->readers + r);
}

void routes_follow(pi2_routes *run)
{
    for (int k = 0; k < run->reader_count; k++) {
        fluid_reader *r = &run->readers[k].reader;
        if (r->first < run->past.oldest || (r->open && r->cursor + 1 >= r->last))
            routes_stretch(run, run->readers + k);
        else if (r->open)
            open(run, r);
    }
}

void routes_mark(pi2_routes *run, routes_reader *reader, int order)
{
    /* Images are found within `close` on either side, and a growing queue brings them nearer to one another. */
    static const double APART = 4.0;
    if (!reader_mark(&reader->reader, &run->past, run->now->t, order, APART * run->close))
        run->status = PI2_FLUID_NO_MEMORY;
    if (!reader->used) /* it begins anew when it is used again */
        reader->reader.place = reader->reader.count - 1;
    if (reader->reader.open) /* its stretch may end here now */
        routes_stretch(run, reader);
}

void routes_mark_all(pi2_routes *run)
{
    for (int r = 0; r < run->reader_count; r++)
        routes_mark(run, run->readers + r, 0);
}

/* The last mark up to which no more packets had entered than have left. */
static void seek_entry(pi2_routes *run, routes_reader *reader, double gone)
{
    fluid_reader *r = &reader->reader;
    size_t low = 0, high = r->count;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2, segment = r->marks[middle].index;
        const double then = segment < run->past.oldest   ? -INFINITY
                            : segment >= run->past.length ? run->now->y[run->queues[reader->queue].entered]
                                                          : entered_at(run, reader, r->marks[middle].time, segment);
        if (then <= gone)
            low = middle;
        else
            high = middle;
    }
    r->place = low;
}

/* A mark as near ahead as `close` has been passed: the step has ended there. */
static void seek(pi2_routes *run, routes_reader *reader, const routes_point *at)
{
    double t = at->t - reader->delay;
    if (reader->kind == ENTRY) {
        const routes_queue *queue = run->queues + reader->queue;
        seek_entry(run, reader, at->y[queue->entered] - at->y[queue->queue]);
        return;
    }
    for (int k = 0; k < reader->queue_count; k++)
        t -= at->tau[reader->queues[k]];
    reader_seek(&reader->reader, t + run->close);
}

void routes_seek(pi2_routes *run, const routes_point *at)
{
    for (int r = 0; r < run->reader_count; r++)
        seek(run, run->readers + r, at);
}

static int reads_now(const pi2_routes *run, const routes_reader *reader)
{
    if (reader->kind == ENTRY)
        return run->now->y[run->queues[reader->queue].queue] <= 0.0;
    return reader->reader.high + routes_find_place(run, reader, run->now).over >= run->now->t - run->close;
}

void routes_seek_back(pi2_routes *run)
{
    for (int r = run->entry_end; r < run->reader_count; r++)
        seek(run, run->readers + r, run->now);
}

void routes_seek_now(pi2_routes *run)
{
    for (int k = 0; k < run->reader_count; k++) {
        routes_reader *reader = run->readers + k;
        const fluid_reader *r = &reader->reader;
        if (r->place + 1 < r->count && r->marks[r->count - 1].index == run->past.length && reads_now(run, reader)) {
            seek(run, reader, run->now);
            routes_stretch(run, reader);
        }
    }
}
