#include "fluid/acks/report.h"

#include "fluid/acks/sources.h"

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
static int rests(const acks_source *source, cell cell)
{
    return source->rests && source->since < cell.to[TIME];
}

/* Of a class without window, what it sends in one round trip of the path. */
static double window(const acks_source *source, cell cell, double sample)
{
    if (!source->steady)
        return rests(source, cell) ? source->resting[SIZE] : between(cell, source->column + SIZE);
    if (!(source->start <= sample && sample < source->stop))
        return 0.0;
    return source->rate * source->path * acks_begun(source, sample);
}

/* What found no room has not left. */
static double leaving(const pi2_acks *run, const acks_passage *passage, cell cell)
{
    const size_t column = run->lossy ? passage->out_real : passage->passed;
    if (rests(run->sources + passage->owner, cell))
        return 0.0;
    return (cell.to[column] - cell.from[column]) / cell.width;
}

static void report_links(const pi2_acks *run, cell cell, int at_node, size_t place, pi2_routes_rows rows)
{
    for (int k = 0; k < run->line_count; k++) {
        const size_t at = place * (size_t)run->line_count + (size_t)k;
        rows.queue[at] = between(cell, run->lines[k].column + QUEUE);
        rows.queue_delay[at] = between(cell, run->lines[k].column + DELAY);
    }
    for (int k = 0; k < run->link_count; k++) {
        const size_t at = place * (size_t)run->link_count + (size_t)k;
        const acks_link *link = run->links + k;
        rows.controller[at] = at_node ? link->aqm->controller(link->law, link->state) : link->controller_before;
        rows.capacity[at] = at_node ? link->capacity : link->capacity_before;
    }
}

void acks_report(const pi2_acks *run, double sample, int at_node, size_t place, pi2_routes_rows rows)
{
    const double *from = acks_before(&run->past), *to = acks_newest(&run->past);
    const cell cell = {from, to, sample - from[TIME], to[TIME] - from[TIME]};
    const double *p = at_node ? run->p : run->p_before;
    report_links(run, cell, at_node, place, rows);
    for (int i = 0; i < run->class_count; i++)
        rows.window[place * (size_t)run->class_count + (size_t)i] = window(run->sources + i, cell, sample);
    for (int i = 0; i < run->passage_count; i++) {
        const size_t at = place * (size_t)run->passage_count + (size_t)i;
        rows.p[at] = p[i];
        rows.leaving[at] = leaving(run, run->passages + i, cell);
    }
}
