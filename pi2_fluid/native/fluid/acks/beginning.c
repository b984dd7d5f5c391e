#include "fluid/acks/beginning.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/acks/links.h"

static void set_source(acks_source *source, const pi2_acks_class *from)
{
    source->law = from->law;
    source->parameters = from->parameters;
    source->states = from->law->states;
    source->plain = from->law->plain.known;
    source->steady = from->steady;
    source->slow = from->slow_start;
    source->spreads = from->spreads;
    source->copied = from->copied;
    source->goes_on = from->before > 0.0;
    source->number = from->count;
    source->per_flow = 1.0 / from->count;
    source->path = from->base_rtt;
    source->round_trip = from->round_trip;
    source->per_round_trip = 1.0 / from->round_trip;
    source->start = from->start;
    source->stop = from->stop;
    source->ramp = from->steady ? from->start_jitter : from->base_rtt;
    source->rate = from->steady ? from->law->sending_rate(from->parameters, from->x, 1.0) : 0.0;
    memcpy(source->window->x, from->x, sizeof source->window->x);
    source->window->grown = from->x[0] + (from->spreads ? -0.5 * from->cutting * from->round_trip : 0.0);
}

/* Columns of a passage, the next of which is `free`; those of the place before are known. Returns the next. */
static size_t place_columns(acks_passage *passage, int first, size_t free)
{
    passage->fed = passage->direct ? passage->feed_passed : free++;
    passage->fed_real = passage->direct ? passage->feed_real : free++;
    passage->came = passage->thinned ? free++ : passage->fed;
    passage->met = first ? NOTHING : passage->direct ? passage->feed_signalled : free++;
    passage->given = passage->at_dequeue ? NOTHING : free++;
    passage->met_by_left = first || !passage->at_dequeue ? NOTHING : free++;
    passage->passed = free++;
    passage->signalled = free++;
    passage->real = free++;
    passage->out_real = free++;
    return free;
}

/* The number of a lag (s), of a new one if there is none like it. */
static size_t find_lag(pi2_acks *run, double time)
{
    size_t i = 0;
    while (i < run->lag_count && run->lags[i].time != time)
        i++;
    if (i == run->lag_count)
        run->lags[run->lag_count++].time = time;
    run->longest = fmax(run->longest, time);
    return i;
}

/* Its passages, from `column` on; returns the next column. */
static size_t place_way(pi2_acks *run, acks_source *source, const pi2_acks_problem *problem, const pi2_acks_class *from,
                        size_t column)
{
    size_t passed = source->column + SENT, real = passed, signalled = NOTHING;
    for (int j = 0; j < from->length; j++) {
        const pi2_acks_visit *visit = from->visits + j;
        acks_passage *passage = run->passages + source->first + j;
        passage->owner = (int)(source - run->sources);
        passage->link = visit->node;
        passage->line = run->links[visit->node].first_line + visit->band;
        passage->signal = visit->signal;
        passage->thinned = visit->thinned;
        passage->adds = problem->sum;
        passage->at_dequeue = problem->nodes[visit->node].at_dequeue;
        passage->direct = visit->hop <= 0.0;
        passage->plain = !j && passage->direct && !passage->thinned;
        if (!passage->direct)
            passage->ago = find_lag(run, visit->hop);
        passage->feed_passed = passed;
        passage->feed_real = real;
        passage->feed_signalled = signalled;
        column = place_columns(passage, !j, column);
        passed = passage->passed;
        real = passage->out_real;
        signalled = passage->signalled;
    }
    source->passed = passed;
    source->signalled = signalled;
    return column;
}

/* Returns how many columns there are. */
static size_t place_sources(pi2_acks *run, const pi2_acks_problem *problem)
{
    size_t column = LINES + (size_t)run->line_count * PER_LINE;
    int passage = 0;
    for (int i = 0; i < run->class_count; i++) {
        acks_source *source = run->sources + i;
        const pi2_acks_class *from = problem->classes + i;
        set_source(source, from);
        source->first = passage;
        source->length = from->length;
        source->column = column;
        column = place_way(run, source, problem, from, column + PER_SOURCE);
        source->columns = column - source->column;
        passage += from->length;
        if (!source->steady)
            source->back_ago = find_lag(run, from->back);
        if (source->spreads)
            source->round_trip_ago = find_lag(run, source->round_trip);
        run->slow_count += source->slow;
    }
    return column;
}

static void place_links(pi2_acks *run, const pi2_acks_problem *problem)
{
    int line = 0;
    for (int k = 0; k < run->link_count; k++) {
        acks_link *link = run->links + k;
        const pi2_acks_node *from = problem->nodes + k;
        link->aqm = from->aqm;
        link->law = from->parameters;
        link->bands = from->aqm->bands;
        link->head = from->head;
        link->capacity = from->capacity;
        link->buffer = from->buffer;
        link->interval = from->update_interval;
        link->tick = 1.0;
        link->push_count = from->push_count;
        link->plain = 1;
        memcpy(link->state, from->state, sizeof link->state);
        link->first_line = line;
        for (int j = 0; j < link->bands; j++, line++)
            run->lines[line].column = LINES + (size_t)line * PER_LINE;
        run->dual_count += link->bands == 2;
    }
}

/* Which passages each queue has. */
static void place_members(pi2_acks *run)
{
    int place = 0;
    for (int k = 0; k < run->line_count; k++) {
        acks_line *line = run->lines + k;
        line->first = place;
        for (int i = 0; i < run->passage_count; i++)
            if (run->passages[i].line == k) {
                run->members[place++] = i;
                run->links[run->passages[i].link].plain &= run->passages[i].plain;
            }
        line->count = place - line->first;
    }
}

/* What a passage had counted by a time (s) before 0. */
static void set_passage(const acks_passage *passage, const pi2_acks_visit *from, double *row)
{
    const double kept = passage->thinned ? 1.0 - from->p : 1.0;
    const double came = from->rate * (row[TIME] - from->took), left = kept * (came - from->rate * from->waited);
    const double both = acks_joined(passage, 1.0, from->met, from->p);
    if (!passage->direct)
        row[passage->fed] = row[passage->fed_real] = came;
    row[passage->came] = kept * came;
    if (passage->met != NOTHING)
        row[passage->met] = from->met * kept * came;
    if (!passage->at_dequeue)
        row[passage->given] = both * kept * came;
    if (passage->met_by_left != NOTHING)
        row[passage->met_by_left] = from->met * left;
    row[passage->real] = kept * came;
    row[passage->passed] = row[passage->out_real] = left;
    row[passage->signalled] = both * left;
}

static void set_lines(pi2_acks *run, const pi2_acks_problem *problem, double *row)
{
    for (int i = 0; i < run->passage_count; i++) {
        double *at = row + run->lines[run->passages[i].line].column;
        at[ARRIVED] += row[run->passages[i].real];
        at[SERVED] += row[run->passages[i].out_real];
    }
    for (int k = 0; k < run->link_count; k++) {
        row[run->lines[run->links[k].first_line].column + DELAY] = problem->nodes[k].waited;
        for (int j = 0; j < run->links[k].bands; j++) {
            double *at = row + run->lines[run->links[k].first_line + j].column;
            at[QUEUE] = at[ARRIVED] > at[SERVED] ? at[ARRIVED] - at[SERVED] : 0.0;
        }
    }
}

/* The time before 0, between two nodes. */
static void set_rows(pi2_acks *run, const pi2_acks_problem *problem)
{
    run->past.newest = run->past.width;
    for (int node = 0; node < 2; node++) {
        double *row = node ? acks_newest(&run->past) : run->past.rows;
        row[TIME] = node ? 0.0 : -problem->past;
        row[PER_SECOND] = 1.0 / problem->past;
        for (int i = 0; i < run->class_count; i++) {
            const acks_source *source = run->sources + i;
            const pi2_acks_class *from = problem->classes + i;
            double *at = row + source->column;
            at[SENT] = from->before * row[TIME];
            at[CUT] = from->cutting * row[TIME];
            at[CUT_INTEGRAL] = 0.5 * from->cutting * row[TIME] * row[TIME];
            at[SIZE] = source->steady ? 0.0 : from->x[0];
            for (int j = 0; j < source->length; j++)
                set_passage(run->passages + source->first + j, from->visits + j, row);
        }
        set_lines(run, problem, row);
    }
}

/* What classes have heard by time 0, and links signal then. */
static void set_signals(pi2_acks *run, const pi2_acks_problem *problem)
{
    for (int i = 0; i < run->class_count; i++) {
        acks_source *source = run->sources + i;
        if (!source->steady) {
            size_t cursor = 0;
            const acks_place back =
                acks_find_time(&run->past, &cursor, -run->lags[source->back_ago].time, run->past.rows);
            source->window->acked = acks_at(back, source->passed);
            source->window->heard = acks_at(back, source->signalled);
        }
    }
    for (int k = 0; k < run->link_count; k++) {
        const acks_link *link = run->links + k;
        const double waited = problem->nodes[k].waited;
        const pi2_seen seen = {{waited, 0.0}, waited * link->capacity, 0.0, link->capacity, 0.0};
        acks_signal(run, link, &seen, run->p);
    }
    memcpy(run->p_after, run->p, (size_t)run->passage_count * sizeof *run->p);
}

int acks_begin(pi2_acks *run, const pi2_acks_problem *problem)
{
    size_t width, kept = 0;
    place_links(run, problem);
    width = place_sources(run, problem);
    place_members(run);
    if (!acks_past_create(&run->past, width))
        return 0;
    run->kept = calloc(width, sizeof *run->kept);
    if (!run->kept)
        return 0;
    for (int i = 0; i < run->class_count; i++) {
        run->sources[i].resting = run->kept + kept;
        kept += run->sources[i].columns;
    }
    set_rows(run, problem);
    set_signals(run, problem);
    return 1;
}
