/* The lines that packets wait in, and the link that they share. */
#pragma once

#include "fluid/acks/run.h"

/* What of a step finds no room: of the packets that came in it, and would wait. */
void acks_overflow(pi2_acks *run, const double *row, double over);

/* Packets sent until the end of the step that is tried, as they come. */
static inline void acks_arrive(pi2_acks *run)
{
    double sums[2] = {0.0, 0.0};
    for (int i = 0; i < run->class_count; i++)
        sums[run->streams[i].band] += run->streams[i].packets;
    for (int k = 0; k < run->bands; k++)
        run->lines[k].arrived = sums[k] - run->lines[k].lost;
}

/* Packets of a line that the link could serve in a step. */
static inline double acks_service(const pi2_acks *run, int k, const double *row, double dt)
{
    const int backlogged[2] = {k == 0, k == 1};
    double needs[2], served[2];
    for (int j = 0; j < 2; j++)
        needs[j] = (run->lines[j].arrived - row[run->lines[j].column + SERVED]) / dt;
    run->aqm->serve(run->law, backlogged, needs, run->capacity, served);
    return served[k] * dt;
}

/* Ends the step that is tried after a part of it, at the latest. */
static inline void acks_split_at(pi2_acks *run, double part)
{
    if (part < run->split)
        run->split = part;
}

/* What has arrived, could be served and found no room at the end of a step of `dt` s, whose packets have been sent:
 * into the lines; run->split says after which part of it something happens that it must end on. */
static inline void acks_try_lines(pi2_acks *run, double dt)
{
    const double *row = acks_newest(&run->past);
    double arrived = 0.0, served = 0.0, over;
    acks_arrive(run);
    for (int k = 0; k < run->bands; k++) {
        acks_line *line = run->lines + k;
        const double queue = row[line->column + QUEUE];
        const double could = row[line->column + SERVED] + (run->bands == 1 ? run->capacity * dt : acks_service(run, k, row, dt));
        line->served = could < line->arrived ? could : line->arrived;
        if (queue > CORNER && line->arrived - could < -CORNER)
            acks_split_at(run, queue / (queue + could - line->arrived));
        arrived += line->arrived;
        served += line->served;
        line->no_room = 0.0;
    }
    over = arrived - served - run->buffer;
    if (over > 0.0) {
        const double room = run->buffer - acks_queue(run);
        if (room > CORNER && over > CORNER)
            acks_split_at(run, room / (room + over));
        acks_overflow(run, row, over);
    }
}

/* Take that step for good, and return where what leaves at its end had come. */
static inline acks_place acks_keep_line(acks_line *line, acks_past *past)
{
    double *row = acks_newest(past);
    const double arrived = line->arrived - line->no_room, waits = arrived - line->served;
    acks_place entered;
    line->lost += line->no_room;
    row[line->column + ARRIVED] = arrived;
    row[line->column + SERVED] = line->served;
    row[line->column + QUEUE] = waits > 0.0 ? waits : 0.0;
    entered = acks_find(past, &line->entry, line->column + ARRIVED, line->served);
    line->delay = waits > TINY ? row[TIME] - (entered.from[TIME] + entered.part * (entered.to[TIME] - entered.from[TIME]))
                               : 0.0;
    row[line->column + DELAY] = line->delay;
    return entered;
}
