#include "fluid/acks/steps.h"

#include <string.h>

#include "fluid/acks/lines.h"
#include "fluid/acks/streams.h"
#include "fluid/acks/windows.h"

void acks_signal(pi2_acks *run, double rate)
{
    const double delays[2] = {run->lines[0].delay, run->bands == 2 ? run->lines[1].delay : 0.0};
    const pi2_seen seen = {{delays[0], delays[1]}, acks_queue(run), rate, run->capacity, 0.0};
    const pi2_signal signal = run->aqm->signals(run->law, run->state, &seen);
    for (int i = 0; i < run->class_count; i++)
        run->p[i] = run->streams[i].signal == PI2_FLUID_CLASSIC    ? signal.classic
                    : run->streams[i].signal == PI2_FLUID_SCALABLE ? signal.scalable
                                                                   : 0.0;
}

void acks_thin(pi2_acks *run)
{
    for (int i = 0; i < run->class_count; i++)
        if (run->streams[i].thinned)
            run->streams[i].kept =
                1.0 - run->aqm->encode(run->law, run->aqm->controller(run->law, run->state)).classic;
}

/* Ends the step where slow start is over or a silent sender resumes. */
static void split_stream(pi2_acks *run, const acks_stream *stream)
{
    const double silence = stream->sent.silence;
    if (stream->slow && stream->sent.sends && stream->then->expected > 1.0)
        acks_split_at(run, (1.0 - stream->now->expected) / (stream->then->expected - stream->now->expected));
    if (stream->silence > CORNER && silence < -CORNER)
        acks_split_at(run, stream->silence / (stream->silence - silence));
}

static void try_step(pi2_acks *run, double dt)
{
    const double *row;
    run->trial.t = run->t + dt;
    if (dt != run->trial.dt) {
        run->trial.dt = dt;
        run->trial.per_second = 1.0 / dt;
    }
    run->split = 1.0;
    row = acks_newest(&run->past);
    for (size_t i = 0; i < run->lag_count; i++) {
        acks_lag *lag = run->lags + i;
        lag->place = acks_find(&run->past, &lag->cursor, TIME, run->trial.t - lag->time);
    }
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        acks_send(stream, run->lags, row, run->trial, run->lines[stream->band].delay);
        if (!stream->steady)
            split_stream(run, stream);
    }
    acks_try_lines(run, dt);
}

/* Packets for which there is room at the end of the step that was tried. */
static double room_of(const pi2_acks *run)
{
    double arrived = 0.0, served = 0.0, lost = 0.0;
    for (int k = 0; k < run->bands; k++) {
        arrived += run->lines[k].arrived;
        served += run->lines[k].served;
        lost += run->lines[k].no_room;
    }
    return run->buffer - (arrived - served - lost);
}

static void keep_streams(pi2_acks *run, const double *before, double *row)
{
    const int full = room_of(run) < CORNER;
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        acks_keep_sent(stream, before, row, run->trial, run->p[i]);
        if (stream->steady || !stream->slow)
            continue;
        if ((full && stream->start <= run->t) || stream->now->expected >= 1.0 - TINY)
            acks_leave_slow_start(stream);
    }
}

/* Nodes are kept as far back as packets wait, or classes look. */
static void forget(pi2_acks *run)
{
    size_t needed;
    acks_find(&run->past, &run->forgotten, TIME, run->t - run->longest);
    needed = run->forgotten;
    for (int k = 0; k < run->bands; k++)
        if (run->lines[k].entry < needed)
            needed = run->lines[k].entry;
    if (needed > run->past.oldest)
        run->past.oldest = needed;
}

static void move_cursor(size_t *cursor, size_t moved)
{
    *cursor = *cursor > moved ? *cursor - moved : 0;
}

/* Returns 0 when there is no memory. */
static int make_room(pi2_acks *run)
{
    size_t moved;
    forget(run);
    if (!acks_past_make_room(&run->past, &moved))
        run->status = PI2_FLUID_NO_MEMORY;
    for (size_t i = 0; i < run->lag_count; i++)
        move_cursor(&run->lags[i].cursor, moved);
    for (int k = 0; k < run->bands; k++)
        move_cursor(&run->lines[k].entry, moved);
    move_cursor(&run->forgotten, moved);
    return !run->status;
}

/* What is held from the newest node on. */
static void hold(pi2_acks *run)
{
    memcpy(run->p_before, run->p, (size_t)run->class_count * sizeof *run->p);
    run->controller_before = run->aqm->controller(run->law, run->state);
    run->capacity_before = run->capacity;
}

static void keep(pi2_acks *run)
{
    acks_place entered[2];
    const double *before;
    double *row;
    if (!run->fresh)
        hold(run);
    run->fresh = run->bands == 1; /* of two, L4S packets are marked by their own delay, too */
    run->past.newest += run->past.width;
    row = acks_newest(&run->past);
    before = acks_before(&run->past);
    row[TIME] = run->t = run->trial.t;
    row[PER_SECOND] = run->trial.per_second;
    keep_streams(run, before, row);
    for (int k = 0; k < run->bands; k++)
        entered[k] = acks_keep_line(run->lines + k, &run->past);
    if (run->bands == 2)
        acks_signal(run, 0.0);
    for (int i = 0; i < run->class_count; i++)
        acks_serve(run->streams + i, before, row, entered[run->streams[i].band], run->at_dequeue ? run->p[i] : -1.0);
}

/* Steps of equal length until the next known instant: at first, after one that was split, and for what rounding
 * leaves. */
static void plan(pi2_acks *run)
{
    if (run->planned <= 1.0) {
        const double left = run->next - run->t, count = ceil(left / run->step - 1e-9);
        run->planned = count > 1.0 ? count : 1.0;
        run->dt = left / run->planned;
    } else
        run->planned -= 1.0;
}

/* Takes back the step that was tried, and tries the part of it. */
static void split_step(pi2_acks *run)
{
    const double least = TINY / run->dt;
    if (least < run->split && run->split < 1.0 - least) {
        try_step(run, run->split * run->dt);
        run->planned = 0.0;
    }
}

void acks_step(pi2_acks *run)
{
    plan(run);
    if (!acks_has_room(&run->past) && !make_room(run))
        return;
    try_step(run, run->dt);
    if (run->split < 1.0)
        split_step(run);
    keep(run);
    if (++run->taken > run->most_steps)
        run->status = PI2_FLUID_STUCK;
}
