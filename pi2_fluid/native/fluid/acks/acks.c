/* Beginning, going on and ending. */
#include "fluid/acks/acks.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/acks/instants.h"
#include "fluid/acks/report.h"
#include "fluid/acks/rests.h"
#include "fluid/acks/run.h"
#include "fluid/acks/steps.h"

static void set_stream(acks_stream *stream, const pi2_acks_class *from)
{
    stream->law = from->law;
    stream->parameters = from->parameters;
    stream->states = from->law->states;
    stream->plain = from->law->plain.known;
    stream->steady = from->steady;
    stream->signal = from->signal;
    stream->band = from->band;
    stream->thinned = from->thinned;
    stream->slow = from->slow_start;
    stream->spreads = from->spreads;
    stream->copied = from->copied;
    stream->goes_on = from->before > 0.0;
    stream->number = from->count;
    stream->per_flow = 1.0 / from->count;
    stream->path = from->base_rtt;
    stream->round_trip = from->round_trip;
    stream->per_round_trip = 1.0 / from->round_trip;
    stream->start = from->start;
    stream->stop = from->stop;
    stream->ramp = from->steady ? from->start_jitter : from->base_rtt;
    stream->rate = from->steady ? from->law->sending_rate(from->parameters, from->x, 1.0) : 0.0;
    stream->kept = 1.0;
    memcpy(stream->window->x, from->x, sizeof stream->window->x);
    stream->window->grown = from->x[0] + (from->spreads ? -0.5 * from->cutting * from->round_trip : 0.0);
}

static void set_parameters(pi2_acks *run, const pi2_acks_problem *problem)
{
    run->bands = problem->aqm->bands;
    run->aqm = problem->aqm;
    run->law = problem->parameters;
    memcpy(run->state, problem->state, sizeof run->state);
    run->capacity = problem->capacity;
    run->buffer = problem->buffer;
    run->interval = problem->update_interval;
    run->end = problem->duration;
    run->step = problem->step;
    run->most_steps = problem->most_steps;
    run->most_bytes = problem->most_bytes;
    run->at_dequeue = problem->at_dequeue;
    run->head = problem->head;
    run->tick = 1.0;
    run->class_count = problem->class_count;
    run->change_count = problem->change_count;
    run->push_count = problem->push_count;
}

/* Space for `count` elements of `size` bytes, at least one; the first of them as they are there. */
static void *copy(const void *from, size_t count, size_t size)
{
    void *to = calloc(count + 1, size);
    if (to && from && count)
        memcpy(to, from, count * size);
    return to;
}

/* Returns 0 when there is no memory. */
static int allocate(pi2_acks *run, const pi2_acks_problem *problem)
{
    const size_t classes = (size_t)run->class_count, bands = (size_t)run->bands;
    run->streams = copy(NULL, classes, sizeof *run->streams);
    run->active = copy(NULL, classes, sizeof *run->active);
    run->lags = copy(NULL, 2 * classes, sizeof *run->lags);
    run->p = copy(NULL, classes, sizeof *run->p);
    run->p_before = copy(NULL, classes, sizeof *run->p);
    run->changes = copy(problem->changes, (size_t)run->change_count, sizeof *run->changes);
    run->pushes = copy(problem->pushes, run->push_count, sizeof *run->pushes);
    return run->streams && run->active && run->lags && run->p && run->p_before && run->changes && run->pushes
           && acks_past_create(&run->past, LINES + bands * PER_LINE + classes * PER_CLASS);
}

/* What a class had done by a time (s) before 0, in which its packets waited as long each. */
static void set_past(const acks_stream *stream, const pi2_acks_class *from, double *row, double waited, double p)
{
    const double t = row[TIME];
    double *at = row + stream->column;
    at[SENT] = from->before * t;
    at[LEFT] = from->before * (t - waited);
    at[GIVEN] = p * at[SENT];
    at[BORNE] = p * at[LEFT];
    at[CUT] = from->cutting * t;
    at[CUT_INTEGRAL] = 0.5 * from->cutting * t * t;
    at[SIZE] = stream->steady ? 0.0 : from->x[0];
}

/* The time before 0, between two nodes. */
static void set_rows(pi2_acks *run, const pi2_acks_problem *problem)
{
    const double waits[2] = {problem->waited, 0.0};
    run->past.newest = run->past.width;
    for (int node = 0; node < 2; node++) {
        double *row = node ? acks_newest(&run->past) : run->past.rows;
        row[TIME] = node ? 0.0 : -problem->past;
        row[PER_SECOND] = 1.0 / problem->past;
        for (int i = 0; i < run->class_count; i++) {
            const acks_stream *stream = run->streams + i;
            double *line = row + run->lines[stream->band].column;
            set_past(stream, problem->classes + i, row, waits[stream->band], stream->steady ? 0.0 : run->p[i]);
            line[ARRIVED] += row[stream->column + SENT];
            line[SERVED] += row[stream->column + LEFT];
        }
        for (int k = 0; k < run->bands; k++) {
            double *line = row + run->lines[k].column;
            line[QUEUE] = line[ARRIVED] > line[SERVED] ? line[ARRIVED] - line[SERVED] : 0.0;
            line[DELAY] = run->lines[k].delay;
        }
    }
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

/* Of a class with a window. */
static acks_place one_path_ago(const pi2_acks *run, const acks_stream *stream)
{
    size_t cursor = 0;
    return acks_find_time(&run->past, &cursor, run->t - stream->path);
}

static void begin(pi2_acks *run, const pi2_acks_problem *problem)
{
    const pi2_seen seen = {{problem->waited, 0.0}, problem->waited * run->capacity, 0.0, run->capacity, 0.0};
    run->lines[0].delay = problem->waited;
    for (int k = 0; k < run->bands; k++)
        run->lines[k].column = LINES + (size_t)k * PER_LINE;
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        set_stream(stream, problem->classes + i);
        stream->column = LINES + (size_t)run->bands * PER_LINE + (size_t)i * PER_CLASS;
        if (!stream->steady)
            stream->path_ago = find_lag(run, stream->path);
        if (stream->spreads)
            stream->round_trip_ago = find_lag(run, stream->round_trip);
    }
    acks_signal_by(run, &seen);
    acks_thin(run);
    set_rows(run, problem);
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        if (!stream->steady) {
            const acks_place back = one_path_ago(run, stream);
            stream->window->acked = acks_at(back, stream->column + LEFT);
            stream->window->heard = acks_at(back, stream->column + BORNE);
        }
        stream->packets = acks_newest(&run->past)[stream->column + SENT];
        run->slow_count += stream->slow;
    }
}

pi2_acks *pi2_acks_create(const pi2_acks_problem *problem)
{
    pi2_acks *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    set_parameters(run, problem);
    if (!allocate(run, problem)) {
        pi2_acks_destroy(run);
        return NULL;
    }
    begin(run, problem);
    if (!acks_collect(run)) {
        pi2_acks_destroy(run);
        return NULL;
    }
    acks_look_ahead(run);
    acks_choose_phases(run, 0.0);
    return run;
}

void pi2_acks_destroy(pi2_acks *run)
{
    if (!run)
        return;
    acks_past_destroy(&run->past);
    free(run->streams);
    free(run->active);
    free(run->lags);
    free(run->p);
    free(run->p_before);
    free(run->changes);
    free(run->others);
    free(run->pushes);
    free(run);
}

/* Fills what can be said of the time up to the newest node. */
static size_t report(const pi2_acks *run, const double *samples, size_t n, size_t i, pi2_fluid_rows rows)
{
    for (; i < n && samples[i] + SAME < run->t; i++)
        acks_report(run, samples[i], 0, i, rows);
    for (; i < n && samples[i] <= run->t + SAME; i++)
        acks_report(run, samples[i], 1, i, rows);
    return i;
}

int pi2_acks_advance(pi2_acks *run, const double *samples, size_t n, size_t *place, pi2_fluid_rows rows,
                     long long most_steps)
{
    size_t i = *place;
    while (!run->status) {
        if (i < n && samples[i] <= run->t + SAME)
            *place = i = report(run, samples, n, i, rows);
        if (i == n)
            return PI2_FLUID_DONE;
        if (!isfinite(run->next))
            return run->status = PI2_FLUID_STUCK;
        if (most_steps-- <= 0)
            return PI2_FLUID_MORE;
        acks_step(run);
        if (!run->status && run->next - run->t <= SAME) {
            acks_happen(run);
            acks_look_ahead(run);
            acks_choose_phases(run, run->t);
        }
    }
    return run->status;
}

double pi2_acks_time(const pi2_acks *run)
{
    return run->t;
}

long long pi2_acks_steps(const pi2_acks *run)
{
    return run->taken;
}

size_t pi2_acks_kept(const pi2_acks *run)
{
    return (run->past.newest - run->past.oldest) / run->past.width + 1;
}

void pi2_acks_count(const pi2_acks *run, pi2_acks_counts counts)
{
    const double *row = acks_newest(&run->past);
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        acks_catch_up(stream, &run->past);
        counts.sent[i] = row[stream->column + SENT];
        counts.left[i] = row[stream->column + LEFT];
        counts.acked[i] = stream->steady ? 0.0 : acks_at(one_path_ago(run, stream), stream->column + LEFT);
    }
    for (int k = 0; k < run->bands; k++) {
        counts.arrived[k] = row[run->lines[k].column + ARRIVED];
        counts.lost[k] = run->lines[k].lost;
    }
}
