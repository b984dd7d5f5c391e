#include "fluid/acks/steps.h"

#include <string.h>

#include "fluid/acks/lines.h"
#include "fluid/acks/streams.h"
#include "fluid/acks/windows.h"

void acks_signal_by(pi2_acks *run, const pi2_seen *seen)
{
    const pi2_signal signal = run->aqm->signals(run->law, run->state, seen, NULL);
    for (int i = 0; i < run->class_count; i++)
        run->p[i] = run->streams[i].signal == PI2_FLUID_CLASSIC    ? signal.classic
                    : run->streams[i].signal == PI2_FLUID_SCALABLE ? signal.scalable
                                                                   : 0.0;
}

void acks_signal(pi2_acks *run, double rate)
{
    const double delays[2] = {run->lines[0].delay, run->bands == 2 ? run->lines[1].delay : 0.0};
    const pi2_seen seen = {{delays[0], delays[1]}, acks_queue(run), rate, run->capacity, 0.0};
    acks_signal_by(run, &seen);
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
    const acks_window *now = stream->window + run->trial.now, *then = stream->window + !run->trial.now;
    if (stream->slow && then->expected > 1.0)
        acks_split_at(run, (1.0 - now->expected) / (then->expected - now->expected));
    if (now->silence > CORNER && then->silence < -CORNER)
        acks_split_at(run, now->silence / (now->silence - then->silence));
}

/* Where classes look in a step that ends at `t`: before now, for a step is shorter than any lag. */
static void look_back(pi2_acks *run, double t)
{
    for (size_t i = 0; i < run->lag_count; i++) {
        acks_lag *lag = run->lags + i;
        lag->place = acks_find_time(&run->past, &lag->cursor, t - lag->time);
    }
}

static void set_trial(pi2_acks *run, double dt)
{
    acks_trial *step = &run->trial;
    step->t = run->t + dt;
    if (dt != step->dt) {
        step->dt = dt;
        step->per_second = 1.0 / dt;
    }
    step->before = acks_newest(&run->past);
    step->row = acks_newest(&run->past) + run->past.width;
    step->lags = run->lags;
}

static void try_step(pi2_acks *run, double dt)
{
    acks_trial step;
    set_trial(run, dt);
    step = run->trial;
    run->split = 1.0;
    look_back(run, step.t);
    for (int j = 0; j < run->active_count; j++) {
        const int i = run->active[j];
        acks_stream *stream = run->streams + i;
        acks_send(stream, &step, run->lines[stream->band].delay, run->p[i]);
        if (stream->phase >= BUILDS_UP)
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

static void end_slow_start(pi2_acks *run)
{
    const int full = room_of(run) < CORNER;
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        const int started = stream->start <= run->t;
        if (stream->slow && ((full && started) || stream->window[run->trial.now].expected >= 1.0 - TINY))
            acks_leave_slow_start(run, stream);
    }
}

/* Nodes are kept as far back as packets wait, or classes look. */
static void forget(pi2_acks *run)
{
    size_t needed;
    acks_find_time(&run->past, &run->forgotten, run->t - run->longest - TINY);
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

static void grow(pi2_acks *run)
{
    const acks_past *past = &run->past;
    if (2.0 * (double)(past->slots * past->width * sizeof *past->rows) > run->most_bytes)
        run->status = PI2_FLUID_TOO_OLD;
    else if (!acks_past_grow(&run->past))
        run->status = PI2_FLUID_NO_MEMORY;
}

static void make_room(pi2_acks *run)
{
    size_t moved;
    forget(run);
    moved = acks_past_compact(&run->past);
    for (size_t i = 0; i < run->lag_count; i++)
        move_cursor(&run->lags[i].cursor, moved);
    for (int k = 0; k < run->bands; k++)
        move_cursor(&run->lines[k].entry, moved);
    move_cursor(&run->forgotten, moved);
    if (acks_past_is_crowded(&run->past))
        grow(run);
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
    acks_trial *step = &run->trial;
    acks_place entered[2];
    if (!run->fresh)
        hold(run);
    run->fresh = run->bands == 1; /* of two, L4S packets are marked by their own delay, too */
    run->past.newest += run->past.width;
    step->row[TIME] = run->t = step->t;
    step->row[PER_SECOND] = step->per_second;
    step->now = !step->now;
    if (run->slow_count)
        end_slow_start(run);
    for (int k = 0; k < run->bands; k++)
        entered[k] = acks_keep_line(run->lines + k, &run->past);
    if (run->bands == 2)
        acks_signal(run, 0.0);
    for (int j = 0; j < run->active_count; j++) {
        const int i = run->active[j];
        acks_serve(run->streams + i, step, entered[run->streams[i].band], run->at_dequeue ? run->p[i] : -1.0);
    }
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
    if (!acks_has_room(&run->past))
        make_room(run);
    if (run->status)
        return;
    try_step(run, run->dt);
    if (run->split < 1.0)
        split_step(run);
    keep(run);
    if (++run->taken > run->most_steps)
        run->status = PI2_FLUID_STUCK;
}
