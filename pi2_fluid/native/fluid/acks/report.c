#include "fluid/acks/report.h"

#include "fluid/acks/streams.h"

typedef struct {
    const double *from, *to; /* the rows of the last two nodes */
    double since, width;     /* s */
} cell;

static double between(cell cell, size_t column)
{
    if (cell.since >= cell.width)
        return cell.to[column];
    return (cell.to[column] - cell.from[column]) / cell.width * cell.since + cell.from[column];
}

/* Whether a class has rested in all of it, so that the past says nothing of it. */
static int rests(const acks_stream *stream, cell cell)
{
    return stream->rests && stream->since < cell.to[TIME];
}

static double rate(cell cell, size_t column)
{
    return (cell.to[column] - cell.from[column]) / cell.width;
}

static double leaving(const acks_stream *stream, cell cell)
{
    return rests(stream, cell) ? 0.0 : rate(cell, stream->column + LEFT);
}

/* Of a class without window, what it sends in one round trip of the path. */
static double window(const acks_stream *stream, cell cell, double sample)
{
    if (!stream->steady)
        return rests(stream, cell) ? stream->resting[SIZE] : between(cell, stream->column + SIZE);
    if (!(stream->start <= sample && sample < stream->stop))
        return 0.0;
    return stream->rate * stream->path * acks_begun(stream, sample);
}

/* What found no room counts as acknowledged with the rest, but has not left by the link. */
static double link_share(const pi2_acks *run, int band, cell cell)
{
    double whole = 0.0;
    if (run->lines[band].lost == 0.0)
        return 1.0;
    for (int i = 0; i < run->class_count; i++)
        if (run->streams[i].band == band)
            whole += leaving(run->streams + i, cell);
    return rate(cell, run->lines[band].column + SERVED) / (whole > 0.0 ? whole : 1.0);
}

void acks_report(const pi2_acks *run, double sample, int at_node, size_t place, pi2_fluid_rows rows)
{
    const double *from = acks_before(&run->past), *to = acks_newest(&run->past);
    const double width = to[TIME] - from[TIME];
    const cell cell = {from, to, sample - from[TIME], width};
    const double *p = at_node ? run->p : run->p_before;
    double share[2];
    for (int k = 0; k < run->bands; k++) {
        const size_t at = place * (size_t)run->bands + (size_t)k;
        rows.queue[at] = between(cell, run->lines[k].column + QUEUE);
        rows.queue_delay[at] = between(cell, run->lines[k].column + DELAY);
        share[k] = link_share(run, k, cell);
    }
    rows.controller[place] = at_node ? run->aqm->controller(run->law, run->state) : run->controller_before;
    rows.capacity[place] = at_node ? run->capacity : run->capacity_before;
    for (int i = 0; i < run->class_count; i++) {
        const acks_stream *stream = run->streams + i;
        const size_t at = place * (size_t)run->class_count + (size_t)i;
        rows.p[at] = p[i];
        rows.window[at] = window(stream, cell, sample);
        rows.leaving[at] = leaving(stream, cell) * share[stream->band];
    }
}
