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
    const double before = stream->now.expected, after = stream->sent.moved.expected;
    const double silence = stream->sent.silence;
    double part = 1.0;
    if (stream->slow && after > 1.0)
        part = (1.0 - before) / (after - before);
    if (part < run->split)
        run->split = part;
    if (stream->silence > CORNER && silence < -CORNER) {
        part = stream->silence / (stream->silence - silence);
        if (part < run->split)
            run->split = part;
    }
}

static void try_step(pi2_acks *run, double dt)
{
    run->trial_t = run->t + dt;
    run->split = 1.0;
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        acks_send(stream, &run->past, run->trial_t, dt, run->lines[stream->band].delay);
        if (!stream->steady)
            split_stream(run, stream);
    }
    acks_try_lines(run, dt);
}

static void keep_streams(pi2_acks *run)
{
    const int full = run->lines[0].no_room != 0.0 || (run->bands == 2 && run->lines[1].no_room != 0.0);
    for (int i = 0; i < run->class_count; i++) {
        acks_stream *stream = run->streams + i;
        acks_keep_sent(stream, &run->past, run->p[i]);
        if (stream->steady || !stream->slow)
            continue;
        if ((full && stream->start <= run->t) || stream->now.expected >= 1.0 - TINY)
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

static void keep(pi2_acks *run)
{
    acks_place entered[2];
    memcpy(run->p_before, run->p, (size_t)run->class_count * sizeof *run->p);
    run->controller_before = run->aqm->controller(run->law, run->state);
    run->capacity_before = run->capacity;
    run->past.newest++;
    run->t = acks_row(&run->past, run->past.newest)[TIME] = run->trial_t;
    keep_streams(run);
    for (int k = 0; k < run->bands; k++)
        entered[k] = acks_keep_line(run->lines + k, &run->past);
    if (run->bands == 2) /* L4S packets are marked by their own delay, too */
        acks_signal(run, 0.0);
    for (int i = 0; i < run->class_count; i++)
        acks_serve(run->streams + i, &run->past, entered[run->streams[i].band], run->at_dequeue ? run->p[i] : -1.0);
    forget(run);
}

void acks_step(pi2_acks *run)
{
    const double left = run->next - run->t, count = ceil(left / run->step - 1e-9);
    const double dt = count > 1.0 ? left / count : left, least = TINY / dt;
    if (!acks_past_make_room(&run->past)) {
        run->status = PI2_FLUID_NO_MEMORY;
        return;
    }
    try_step(run, dt);
    if (least < run->split && run->split < 1.0 - least)
        try_step(run, run->split * dt);
    keep(run);
    if (++run->taken > run->most_steps)
        run->status = PI2_FLUID_STUCK;
}
