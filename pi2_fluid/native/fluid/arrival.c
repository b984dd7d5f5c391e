/* What happens at the end of a step: events, changes, ticks, and the marks they leave for those who look back. */
#include "fluid/arrival.h"

#include "fluid/events.h"
#include "fluid/lean.h"
#include "fluid/modes.h"
#include "fluid/plant.h"
#include "fluid/readers.h"
#include "fluid/schedule.h"
#include "fluid/sides.h"
#include "fluid/slopes.h"

/* Notes the kink that passing a jump leaves in the windows of a group, if it is not negligible. */
static void mark_strong(pi2_fluid *run, const fluid_group *group)
{
    const double rtt = run->now->view.rtt[group->number], h = run->step < rtt ? run->step : rtt;
    for (int i = 0; i < run->class_count; i++) {
        const fluid_class *c = run->classes + i;
        if (c->group != group->number || !run->mode->of[i].active)
            continue;
        for (int j = c->x; j < c->x + c->states; j++)
            if (fluid_matters(run, run->scratch.f[j] - run->now->f[j], h * h / rtt, run->now->y[j])) {
                fluid_mark(run, group->number, 1);
                return;
            }
    }
}

/* A jump of derivative n of the signal flow is one of derivative n + 1 of the windows that it reaches, and, through
 * the queue, of derivative n + 2 of all others. Steps of a fixed length end at all up to the second. */
static void mark_images(pi2_fluid *run, int jumps)
{
    for (int g = 0; g < run->group_count; g++) {
        const int passed = run->groups[g].passed;
        if (passed >= 0 && passed < 2)
            fluid_mark(run, g, passed + 1);
        else if (passed < 0 && jumps)
            fluid_mark(run, g, 2);
        run->groups[g].passed = -1;
    }
}

/* Moves those on who pass a breakpoint; returns whether one is a jump. */
static int move_on(pi2_fluid *run)
{
    int jumps = 0;
    for (int k = 0; k < run->hearing_count; k++) {
        fluid_group *group = run->hearing[k];
        fluid_reader *reader = &group->reader;
        group->passed = -1;
        if (!group->image)
            continue;
        group->passed = reader->marks[reader->place + (group->image > 0)].order;
        jumps |= group->passed == 0;
        reader->place += (size_t)(ptrdiff_t)group->image;
        reader_stretch(reader, &run->past, run->now->t);
    }
    if (run->kind == LEAN_KIND)
        lean_look_back(run);
    return jumps;
}

/* What images do. Returns whether the slopes beyond them are now in run->scratch.f. */
static int pass_images(pi2_fluid *run)
{
    const int jumps = move_on(run);
    fluid_point beyond = run->scratch;
    if (run->rates_compare)
        fluid_take_rate_sides(run);
    if (run->tolerance == 0.0)
        mark_images(run, jumps);
    if (!jumps || run->tolerance == 0.0)
        return 0;
    beyond.t = run->now->t;
    beyond.y = run->now->y;
    fluid_slopes(run, &beyond);
    for (int k = 0; k < run->hearing_count; k++)
        if (run->hearing[k]->passed == 0)
            mark_strong(run, run->hearing[k]);
    return 1;
}

/* dx/dt of a class that has always been where it is, under a signal. */
static void slopes_at_rest(const pi2_fluid *run, int i, double p, double *slopes)
{
    const fluid_class *c = run->classes + i;
    const double *x = run->now->y + c->x, rtt = run->now->view.rtt[c->group];
    if (c->plain)
        slopes[0] = fluid_window_rate(&c->law->plain, x[0], x[0] / rtt * p, 1.0 / rtt);
    else
        c->law->rate(c->parameters, x, x, p, rtt, rtt, NULL, slopes);
}

/* Notes a change of the signals as a jump for those to whom it matters. */
static void mark_tick(pi2_fluid *run, pi2_signal old, pi2_signal new)
{
    for (int i = 0; i < run->class_count; i++) {
        const fluid_class *c = run->classes + i;
        const double rtt = run->now->view.rtt[c->group], h = run->step < rtt ? run->step : rtt;
        double before[PI2_SENDER_STATES], after[PI2_SENDER_STATES];
        if (!run->mode->of[i].active || !c->listens)
            continue;
        slopes_at_rest(run, i, fluid_signal_of(run, i, old), before);
        slopes_at_rest(run, i, fluid_signal_of(run, i, new), after);
        for (int j = 0; j < c->states; j++)
            if (fluid_matters(run, after[j] - before[j], h, run->now->y[c->x + j])) {
                fluid_mark(run, c->group, 0);
                break;
            }
    }
}

/* One update of the controller. run->now->view is that of the present state. */
static void update(pi2_fluid *run)
{
    double *y = run->now->y, before[PI2_AQM_STATES], after[PI2_AQM_STATES];
    pi2_signal old;
    pi2_seen seen;
    fluid_state(run, y, before);
    fluid_seen(run, y, run->mode, &run->now->view, &seen);
    old = run->aqm->signals(run->law, before, &seen, NULL);
    before[0] += fluid_push(run);
    run->aqm->update(run->law, before, &seen, run->interval, after);
    run->aqm->saturate(run->law, after);
    for (int j = 0; j < run->states; j++) /* not memcpy: wide loads of what was just stored in parts are slow */
        run->state[j] = after[j];
    for (int j = 0; j < run->moving; j++)
        y[run->controller + j] = after[run->moves[j]];
    mark_tick(run, old, run->aqm->signals(run->law, after, &seen, NULL));
}

/* Whether, after a tick alone, every bound that holds still does. */
static int bounds_hold(const pi2_fluid *run)
{
    const double q = run->now->y[0], net = run->now->view.net[0];
    const int bound = q <= 0.0 && net <= 0.0                                                    ? EMPTY
                      : q >= run->buffer && fluid_growth(run, run->now->view.net, run->mode) >= 0.0 ? FULL
                                                                                                : FREE;
    return run->bands == 1 && !run->thins && bound == run->mode->bound[0];
}

static void make_changes(pi2_fluid *run)
{
    double tau;
    pi2_seen seen;
    fluid_observe(run, run->now->t, run->now->y, run->mode, &run->now->view);
    fluid_seen(run, run->now->y, run->mode, &run->now->view, &seen);
    tau = run->now->view.tau[0];
    fluid_take_changes(run);
    fluid_hold_bounds(run);
    if (run->continuous)
        fluid_jump(run, tau, &seen);
    fluid_mark_all(run);
    fluid_seek(run);
}

int fluid_happen(pi2_fluid *run, int event, int signalled)
{
    const int changes = fluid_changes_now(run), ticks = fluid_ticks_now(run);
    int stale = event || changes || (ticks && (run->aqm->drift || run->thins));
    if (changes || ticks)
        run->by_numbers = 1;
    if (changes)
        make_changes(run);
    if (ticks) {
        if (event || changes)
            fluid_observe(run, run->now->t, run->now->y, run->mode, &run->now->view);
        if (run->kind == LEAN_KIND)
            lean_tick(run);
        else
            update(run);
        fluid_next_tick(run);
    }
    if (changes || (ticks && !bounds_hold(run)) || (!ticks && signalled)) {
        fluid_hold_bounds(run);
        stale = 1;
    }
    return stale;
}

/* Lets comparisons hold the answers that they have after what has happened; returns whether the mode has changed. */
static int take_sides(pi2_fluid *run)
{
    if (!run->by_numbers)
        return 0;
    if (run->aqm->comparisons && fluid_take_queue_sides(run)) {
        fluid_mark_all(run);
        return 1;
    }
    return 0;
}

/* Notes an event: of one class's window for its group alone, when steps adapt, as others feel it no more than a weak
 * kink. */
static void mark_event(pi2_fluid *run, const fluid_event *event)
{
    if (run->tolerance > 0.0 && (event->kind == SIGNALLED || event->kind == FLOOR || event->kind == LIFT))
        fluid_mark(run, run->classes[event->index].group, 0);
    else
        fluid_mark_all(run);
}

void fluid_arrive(pi2_fluid *run, const fluid_event *event, int images)
{
    const int slopes_known = images && pass_images(run);
    int stale;
    if (run->now->t + SAME >= run->next)
        fluid_look_ahead(run);
    if (event) {
        run->by_numbers |= event->kind != SIDE;
        fluid_apply_event(run, event);
        mark_event(run, event);
    }
    stale = fluid_happen(run, event != NULL, event && event->kind == SIGNALLED);
    stale |= take_sides(run);
    if (stale) {
        fluid_stretches(run);
        if (run->by_numbers)
            fluid_take_rate_sides(run);
        fluid_choose_kind(run);
        fluid_slopes(run, run->now);
    } else if (images && !slopes_known)
        fluid_slopes(run, run->now);
    else if (slopes_known) {
        double *f = run->now->f;
        run->now->f = run->scratch.f;
        run->scratch.f = f;
    }
    run->by_numbers = 0;
}
