/* One link: its queues, and the law that signals what goes through them. */
#pragma once

#include "fluid/acks/passages.h"

/* Probabilities with which a link signals its passages, of a queue that sees this: into an element of each of them. */
void acks_signal(const pi2_acks *run, const acks_link *link, const pi2_seen *seen, double *p);
/* What it sees in a row of the past; what a tick measures of the queues, its heads or their backlogs. */
pi2_seen acks_seen(const pi2_acks *run, const acks_link *link, const double *row, double rate);
/* What packets find no room in a step, of those that came in it and would wait: as many as `over`. */
void acks_overflow(pi2_acks *run, const acks_link *link, const acks_trial *step, double over);

/* Packets of a queue that the link could serve in a step. */
static inline double acks_service(const pi2_acks *run, const acks_link *link, int k, const acks_trial *step)
{
    const acks_line *lines = run->lines + link->first_line;
    const int backlogged[2] = {k == 0, k == 1};
    double needs[2], served[2];
    if (link->bands == 1)
        return link->capacity * step->dt;
    for (int j = 0; j < 2; j++)
        needs[j] = (lines[j].arrived - step->before[lines[j].column + SERVED]) / step->dt;
    link->aqm->serve(link->law, backlogged, needs, link->capacity, served);
    return served[k] * step->dt;
}

/* Lets packets of a queue come until the end of a step. They are added in one order, whoever rests. */
static inline void acks_arrive_at(const pi2_acks *run, acks_line *line, const acks_trial *step, int plain)
{
    const int *members = run->members + line->first, *active = run->active + line->first;
    double arrived = 0.0;
    for (int j = 0; j < line->active_count; j++) {
        acks_passage *passage = run->passages + active[j];
        passage->packets = plain ? acks_arrive_plainly(passage, step, run->p[active[j]])
                                 : acks_arrive(passage, step, run->p[active[j]], run->lossy);
    }
    for (int j = 0; j < line->count; j++)
        arrived += run->passages[members[j]].packets;
    line->arrived = arrived;
}

/* Lets what enters, waits and leaves be known; returns where what leaves at the end of the step had come. */
static inline acks_place acks_serve(const pi2_acks *run, acks_line *line, const acks_trial *step)
{
    double *row = step->row + line->column;
    const double waits = line->arrived - line->served;
    acks_place entered;
    row[ARRIVED] = line->arrived;
    row[SERVED] = line->served;
    row[QUEUE] = waits > 0.0 ? waits : 0.0;
    entered = acks_find(&run->past, &line->entry, line->column + ARRIVED, line->served);
    row[DELAY] = waits > TINY ? step->t - (entered.from[TIME] + entered.part * (entered.to[TIME] - entered.from[TIME]))
                              : 0.0;
    return entered;
}

static inline void acks_leave_from(const pi2_acks *run, const acks_line *line, const acks_trial *step, acks_place entered,
                                   const double *p, int plain)
{
    const int *active = run->active + line->first;
    for (int j = 0; j < line->active_count; j++) {
        const int i = active[j];
        if (plain)
            acks_leave_plainly(run->passages + i, step, entered, p[i]);
        else
            acks_leave(run->passages + i, step, entered, p[i], run->lossy);
    }
}

/* Lets packets come, wait and leave in a step; run->split says after which part of it something happens that it must end
 * on, run->loses that it is to be tried once more. */
static inline void acks_step_link(pi2_acks *run, const acks_link *link, const acks_trial *step)
{
    acks_line *lines = run->lines + link->first_line;
    const int plain = link->plain && !run->lossy;
    const double *p = run->p;
    acks_place entered[2];
    double arrived = 0.0, served = 0.0, over;
    for (int k = 0; k < link->bands; k++)
        acks_arrive_at(run, lines + k, step, plain);
    for (int k = 0; k < link->bands; k++) {
        acks_line *line = lines + k;
        const double queue = step->before[line->column + QUEUE];
        const double could = step->before[line->column + SERVED] + acks_service(run, link, k, step);
        line->served = could < line->arrived ? could : line->arrived;
        if (queue > CORNER && line->arrived - could < -CORNER)
            acks_split_at(run, queue / (queue + could - line->arrived));
        arrived += line->arrived;
        served += line->served;
    }
    over = arrived - served - link->buffer;
    if (over > 0.0) {
        const double room = link->buffer - acks_queue(run, link, step->before);
        if (room > CORNER && over > CORNER)
            acks_split_at(run, room / (room + over));
        acks_overflow(run, link, step, over);
    }
    for (int k = 0; k < link->bands; k++)
        entered[k] = acks_serve(run, lines + k, step);
    if (link->bands == 2) { /* L4S packets are marked by their own delay, too */
        const pi2_seen seen = acks_seen(run, link, step->row, 0.0);
        acks_signal(run, link, &seen, run->p_after);
        p = run->p_after;
    }
    for (int k = 0; k < link->bands; k++)
        acks_leave_from(run, lines + k, step, entered[k], p, plain);
}
