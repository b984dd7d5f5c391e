#include "fluid/acks/lines.h"

static void arrive(pi2_acks *run)
{
    for (int k = 0; k < run->bands; k++)
        run->lines[k].arrived = 0.0;
    for (int i = 0; i < run->class_count; i++)
        run->lines[run->streams[i].band].arrived += run->streams[i].sent.packets;
    for (int k = 0; k < run->bands; k++)
        run->lines[k].arrived -= run->lines[k].lost;
}

/* Packets of a line that the link could serve in a step. */
static double service(const pi2_acks *run, int k, const double *row, double dt)
{
    const int backlogged[2] = {k == 0, k == 1};
    double needs[2], served[2];
    if (run->bands == 1)
        return run->capacity * dt;
    for (int j = 0; j < 2; j++)
        needs[j] = (run->lines[j].arrived - row[run->lines[j].column + SERVED]) / dt;
    run->aqm->serve(run->law, backlogged, needs, run->capacity, served);
    return served[k] * dt;
}

static void split_at(pi2_acks *run, double part)
{
    if (part < run->split)
        run->split = part;
}

/* What of a step finds no room: of the packets that came in it, and would wait. */
static void overflow(pi2_acks *run, const double *row, double over)
{
    double late[2], sum = 0.0, part = 0.0;
    for (int k = 0; k < run->bands; k++) {
        const acks_line *line = run->lines + k;
        const double waits = line->arrived - line->served, came = line->arrived - row[line->column + ARRIVED];
        late[k] = came < waits ? came : waits;
        sum += late[k];
    }
    if (sum > 0.0)
        part = over / sum < 1.0 ? over / sum : 1.0;
    for (int k = 0; k < run->bands; k++)
        run->lines[k].no_room = part * late[k];
}

void acks_try_lines(pi2_acks *run, double dt)
{
    const double *row = acks_row(&run->past, run->past.newest);
    double arrived = 0.0, served = 0.0, over;
    arrive(run);
    for (int k = 0; k < run->bands; k++) {
        acks_line *line = run->lines + k;
        const double queue = row[line->column + QUEUE];
        const double could = row[line->column + SERVED] + service(run, k, row, dt);
        line->served = could < line->arrived ? could : line->arrived;
        if (queue > CORNER && line->arrived - could < -CORNER)
            split_at(run, queue / (queue + could - line->arrived));
        arrived += line->arrived;
        served += line->served;
        line->no_room = 0.0;
    }
    over = arrived - served - run->buffer;
    if (over > 0.0) {
        const double room = run->buffer - acks_queue(run);
        if (room > CORNER && over > CORNER)
            split_at(run, room / (room + over));
        overflow(run, row, over);
    }
}

acks_place acks_keep_line(acks_line *line, acks_past *past)
{
    double *row = acks_row(past, past->newest);
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
