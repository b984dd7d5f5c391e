/* State events: a queue empties or fills, a clip is reached or left, a comparison of a law changes its answer, slow
 * start ends. */
#include "fluid/events.h"

#include "fluid/bracket.h"
#include "fluid/modes.h"
#include "fluid/plant.h"
#include "fluid/readers.h"
#include "fluid/sides.h"
#include "fluid/slopes.h"
#include "fluid/step.h"

/* Packets that a queue may miss: one that has just left 0 may begin a rounding error below. */
#define TINY 1e-9

/* Positive before the event, negative beyond it. */
static double value(pi2_fluid *run, const fluid_event *event, double t, const double *y)
{
    fluid_view *view = &run->scratch.view;
    double slope[PI2_AQM_STATES];
    switch (event->kind) {
    case QUEUE_EMPTIES:
        return y[event->index];
    case BUFFER_FILLS:
        return run->buffer - (run->bands == 2 ? y[0] + y[1] : y[0]);
    case CLIP:
        return event->side * (event->bound - y[run->controller + event->index]);
    case SIGNALLED:
        return 1.0 - y[run->classes[event->index].expected];
    case FLOOR:
        return y[run->classes[event->index].x];
    default:
        break;
    }
    fluid_observe(run, t, y, run->mode, view);
    switch (event->kind) {
    case QUEUE_GROWS:
        return -view->net[event->index];
    case BUFFER_DRAINS:
        return fluid_growth(run, view->net, run->mode);
    case LIFT:
        return -fluid_window_slope(run, event->index, t, y, view);
    case RELEASE:
        fluid_controller_slope(run, y, view, slope);
        return event->side * slope[event->index];
    default:
        fluid_distances(run, event->index, t, y, view, run->distances);
        return run->distances[event->number];
    }
}

static void add(pi2_fluid *run, int *n, int kind, int index, double bound, double side)
{
    fluid_event *event = run->events + (*n)++;
    event->kind = kind;
    event->index = index;
    event->bound = bound;
    event->side = side;
}

static void add_clips(pi2_fluid *run, int *n)
{
    const double *y = run->trial->y + run->controller;
    double state[PI2_AQM_STATES], slope[PI2_AQM_STATES];
    int held = 0;
    fluid_state(run, run->trial->y, state);
    run->aqm->saturate(run->law, state);
    for (int j = 0; j < run->moving; j++)
        held |= run->held[j] != 0.0;
    if (held)
        fluid_controller_slope(run, run->trial->y, &run->trial->view, slope);
    for (int j = 0; j < run->moving; j++) {
        const double clipped = state[run->moves[j]];
        if (run->held[j] == 0.0 && y[j] != clipped)
            add(run, n, CLIP, j, clipped, copysign(1.0, y[j] - clipped));
        else if (run->held[j] != 0.0 && run->held[j] * slope[j] < 0.0)
            add(run, n, RELEASE, j, 0.0, run->held[j]);
    }
}

static void add_floors(pi2_fluid *run, int *n)
{
    const fluid_point *trial = run->trial;
    for (int i = 0; i < run->class_count; i++) {
        const fluid_class *c = run->classes + i;
        if (!run->mode->of[i].active || !c->listens)
            continue;
        if (!run->floored[i] && trial->y[c->x] < 0.0)
            add(run, n, FLOOR, i, 0.0, 1.0);
        else if (run->floored[i] && fluid_window_slope(run, i, trial->t, trial->y, &trial->view) > 0.0)
            add(run, n, LIFT, i, 0.0, 1.0);
    }
}

static void add_sides(pi2_fluid *run, int *n)
{
    const fluid_point *trial = run->trial;
    for (int k = 0; k <= run->class_count; k++) {
        const int count = fluid_distances(run, k, trial->t, trial->y, &trial->view, run->distances);
        for (int j = 0; j < count; j++)
            if (run->distances[j] < 0.0) {
                add(run, n, SIDE, k, 0.0, 1.0);
                run->events[*n - 1].number = j;
            }
    }
}

int fluid_crossed(pi2_fluid *run)
{
    const double *y = run->trial->y, *net = run->trial->view.net;
    const fluid_mode *mode = run->mode;
    const int full = mode->bound[0] == FULL || (run->bands == 2 && mode->bound[1] == FULL);
    int n = 0;
    for (int k = 0; k < run->bands; k++) {
        if (mode->bound[k] != EMPTY && y[k] < -TINY)
            add(run, &n, QUEUE_EMPTIES, k, 0.0, 1.0);
        if (mode->bound[k] == EMPTY && net[k] > 0.0)
            add(run, &n, QUEUE_GROWS, k, 0.0, 1.0);
    }
    if (!full && (run->bands == 2 ? y[0] + y[1] : y[0]) > run->buffer)
        add(run, &n, BUFFER_FILLS, 0, 0.0, 1.0);
    if (full && fluid_growth(run, net, mode) < 0.0)
        add(run, &n, BUFFER_DRAINS, 0, 0.0, 1.0);
    if (run->continuous)
        add_clips(run, &n);
    add_floors(run, &n);
    if (run->comparing || run->aqm->comparisons)
        add_sides(run, &n);
    for (int i = 0; i < run->class_count; i++)
        if (mode->of[i].slow && y[run->classes[i].expected] > 1.0)
            add(run, &n, SIGNALLED, i, 0.0, 1.0);
    return n;
}

typedef struct {
    pi2_fluid *run;
    const fluid_event *event;
} sought;

/* The event's value at a part of the trial step, on the cubic through its ends. */
static double value_at(void *what, double part)
{
    const sought *s = what;
    pi2_fluid *run = s->run;
    const double h = run->trial->t - run->now->t;
    step_between(part, h, run->size, run->now->y, run->now->f, run->trial->y, run->trial->f, run->scratch.y);
    return value(run, s->event, run->now->t + part * h, run->scratch.y);
}

double fluid_locate(pi2_fluid *run, const fluid_event *event)
{
    sought s = {run, event};
    return fluid_bracket(value_at, &s);
}

double fluid_speed(pi2_fluid *run, const fluid_event *event, double *now)
{
    static const double BACK = 1e-3; /* of the step */
    sought s = {run, event};
    const double before = value_at(&s, 1.0 - BACK);
    *now = value(run, event, run->trial->t, run->trial->y);
    return (*now - before) / (BACK * (run->trial->t - run->now->t));
}

void fluid_apply_event(pi2_fluid *run, const fluid_event *event)
{
    const int k = event->index;
    double *y = run->now->y;
    switch (event->kind) {
    case QUEUE_EMPTIES:
    case QUEUE_GROWS:
        if (event->kind == QUEUE_EMPTIES)
            y[k] = 0.0;
        fluid_set_bound(run, k, event->kind == QUEUE_EMPTIES ? EMPTY : FREE);
        if (run->bands == 2) /* the other band's share, and with it all delays, have jumped */
            fluid_seek(run);
        break;
    case BUFFER_FILLS:
        y[run->bands == 2 && y[1] > y[0]] += run->buffer - (run->bands == 2 ? y[0] + y[1] : y[0]);
        for (int j = 0; j < run->bands; j++)
            if (run->mode->bound[j] == FREE)
                fluid_set_bound(run, j, FULL);
        for (int i = 0; i < run->class_count; i++)
            fluid_end_slow_start(run, i);
        break;
    case BUFFER_DRAINS:
        for (int j = 0; j < run->bands; j++)
            if (run->mode->bound[j] == FULL)
                fluid_set_bound(run, j, FREE);
        break;
    case CLIP:
        y[run->controller + k] = event->bound;
        run->held[k] = event->side;
        break;
    case RELEASE:
        run->held[k] = 0.0;
        break;
    case SIDE:
        fluid_turn_side(run, k, event->number);
        break;
    case FLOOR:
        y[run->classes[k].x] = 0.0;
        run->floored[k] = 1;
        break;
    case LIFT:
        run->floored[k] = 0;
        break;
    default:
        fluid_end_slow_start(run, k);
    }
    if (event->kind == QUEUE_EMPTIES || event->kind == BUFFER_FILLS)
        fluid_clips(run);
}
