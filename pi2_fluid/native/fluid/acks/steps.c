#include "fluid/acks/steps.h"

#include <string.h>

#include "fluid/acks/links.h"
#include "fluid/acks/losses.h"
#include "fluid/acks/sources.h"

/* Ends the step where slow start is over or a silent sender resumes. */
static void split_source(pi2_acks *run, const acks_source *source)
{
    const acks_window *now = source->window + run->trial.now, *then = source->window + !run->trial.now;
    if (source->slow && then->expected > 1.0)
        acks_split_at(run, (1.0 - now->expected) / (then->expected - now->expected));
    if (now->silence > CORNER && then->silence < -CORNER)
        acks_split_at(run, now->silence / (now->silence - then->silence));
}

/* Where classes and passages look in a step that ends at `t`: in the step itself, where a hop is shorter. */
static void look_back(pi2_acks *run, double t)
{
    for (size_t i = 0; i < run->lag_count; i++) {
        acks_lag *lag = run->lags + i;
        lag->place = acks_find_time(&run->past, &lag->cursor, t - lag->time, acks_newest(&run->past));
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
    step->row[TIME] = step->t;
    step->row[PER_SECOND] = step->per_second;
    step->row[NOTHING] = 0.0;
}

/* How long what leaves the queues of a class's way has waited there in all (s). */
static double waited(const pi2_acks *run, const acks_source *source, const double *row)
{
    const acks_passage *passages = run->passages + source->first;
    double sum = 0.0;
    for (int j = 0; j < source->length; j++)
        sum += row[run->lines[passages[j].line].column + DELAY];
    return sum;
}

static void ask_all(pi2_acks *run, double dt)
{
    acks_trial step;
    set_trial(run, dt);
    step = run->trial;
    run->split = 1.0;
    look_back(run, step.t);
    for (int j = 0; j < run->asked_count; j++) {
        const int i = run->asked[j];
        acks_source *source = run->sources + i;
        if (i >= run->class_count) {
            acks_step_link(run, run->links + (i - run->class_count), &step);
            continue;
        }
        acks_send(source, &step, waited(run, source, step.before));
        if (source->phase >= BUILDS_UP)
            split_source(run, source);
    }
}

static void try_step(pi2_acks *run, double dt)
{
    ask_all(run, dt);
    if (run->loses) {
        run->loses = 0;
        acks_begin_losses(run);
        ask_all(run, dt);
    }
}

/* Whether hardly anything more finds room at some link of a class's way. */
static int meets_full(const pi2_acks *run, const acks_source *source)
{
    for (int j = 0; j < source->length; j++) {
        const acks_link *link = run->links + run->passages[source->first + j].link;
        if (link->buffer - acks_queue(run, link, acks_newest(&run->past)) < CORNER)
            return 1;
    }
    return 0;
}

static void end_slow_start(pi2_acks *run)
{
    for (int i = 0; i < run->class_count; i++) {
        acks_source *source = run->sources + i;
        if (!source->slow)
            continue;
        if (source->window[run->trial.now].expected >= 1.0 - TINY
            || (source->start <= run->t && meets_full(run, source)))
            acks_leave_slow_start(run, source);
    }
}

/* Nodes are kept as far back as packets wait, or classes look. */
static void forget(pi2_acks *run)
{
    size_t needed;
    acks_find_time(&run->past, &run->forgotten, run->t - run->longest - TINY, acks_before(&run->past));
    needed = run->forgotten;
    for (int k = 0; k < run->line_count; k++)
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
    for (int k = 0; k < run->line_count; k++)
        move_cursor(&run->lines[k].entry, moved);
    move_cursor(&run->forgotten, moved);
    if (acks_past_is_crowded(&run->past))
        grow(run);
}

/* What is held from the newest node on. */
static void hold(pi2_acks *run)
{
    memcpy(run->p_before, run->p, (size_t)run->passage_count * sizeof *run->p);
    for (int k = 0; k < run->link_count; k++) {
        acks_link *link = run->links + k;
        link->controller_before = link->aqm->controller(link->law, link->state);
        link->capacity_before = link->capacity;
    }
}

static void keep(pi2_acks *run)
{
    if (!run->fresh)
        hold(run);
    run->fresh = !run->dual_count; /* of two queues, L4S packets are marked by their own delay, too */
    if (run->dual_count)
        memcpy(run->p, run->p_after, (size_t)run->passage_count * sizeof *run->p);
    run->past.newest += run->past.width;
    run->t = run->trial.t;
    run->trial.now = !run->trial.now;
    if (run->slow_count)
        end_slow_start(run);
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
