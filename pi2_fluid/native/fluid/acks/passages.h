/* The packets of one class at one link of its way: come, signalled and left. */
#pragma once

#include "fluid/acks/run.h"

/* How many of some packets are signalled behind a link that signals with `p`, of which so many had been before. */
static inline double acks_joined(const acks_passage *passage, double packets, double signalled, double p)
{
    if (passage->adds) {
        const double sum = signalled + p * packets;
        return sum < packets ? sum : packets;
    }
    return signalled + p * (packets - signalled);
}

/* Lets come what does until the end of a step, signalled with `p`; returns how many are really there. */
static inline double acks_arrive(const acks_passage *passage, const acks_trial *step, double p, int lossy)
{
    const double *before = step->before;
    const double kept = passage->thinned ? 1.0 - p : 1.0;
    double *row = step->row, came, lost, missed;
    if (!passage->direct) {
        const acks_place then = step->lags[passage->ago].place;
        row[passage->fed] = acks_at(then, passage->feed_passed);
        row[passage->met] = acks_at(then, passage->feed_signalled);
        if (lossy)
            row[passage->fed_real] = acks_at(then, passage->feed_real);
    }
    if (passage->thinned)
        row[passage->came] = before[passage->came] + kept * (row[passage->fed] - before[passage->fed]);
    came = row[passage->came];
    if (!passage->at_dequeue)
        row[passage->given] = before[passage->given]
                              + acks_joined(passage, came - before[passage->came],
                                            row[passage->met] - before[passage->met], p);
    if (!lossy)
        return came;
    lost = before[passage->came] - before[passage->real];
    missed = before[passage->fed] - before[passage->fed_real];
    row[passage->real] = came - (lost + kept * (row[passage->fed] - row[passage->fed_real] - missed));
    return row[passage->real];
}

/* The same of a plain one, of which nothing has been lost. */
static inline double acks_arrive_plainly(const acks_passage *passage, const acks_trial *step, double p)
{
    const double *before = step->before;
    const double came = step->row[passage->came];
    if (!passage->at_dequeue)
        step->row[passage->given] = before[passage->given] + p * (came - before[passage->came]);
    return came;
}

/* Lets a part of what came in the step find no room. */
static inline void acks_lose(const acks_passage *passage, const acks_trial *step, double part)
{
    step->row[passage->real] -= part * (step->row[passage->real] - step->before[passage->real]);
}

/* Lets everything leave that entered until some place; `p` is the signal at the exit. */
static inline void acks_leave(const acks_passage *passage, const acks_trial *step, acks_place entered, double p, int lossy)
{
    const double *before = step->before;
    const double passed = acks_at(entered, passage->came);
    double *row = step->row;
    if (passage->at_dequeue) {
        const double met = acks_at(entered, passage->met);
        row[passage->signalled] = before[passage->signalled]
                                  + acks_joined(passage, passed - before[passage->passed],
                                                met - before[passage->met_by_left], p);
        row[passage->met_by_left] = met;
    } else
        row[passage->signalled] = acks_at(entered, passage->given);
    row[passage->passed] = passed;
    if (lossy)
        row[passage->out_real] = acks_at(entered, passage->real);
}

/* The same of a plain one, of which nothing has been lost. */
static inline void acks_leave_plainly(const acks_passage *passage, const acks_trial *step, acks_place entered, double p)
{
    const double passed = acks_at(entered, passage->came);
    step->row[passage->signalled] =
        passage->at_dequeue ? step->before[passage->signalled] + p * (passed - step->before[passage->passed])
                            : acks_at(entered, passage->given);
    step->row[passage->passed] = passed;
}
