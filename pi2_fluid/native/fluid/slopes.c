/* The right-hand side: what the present and the past make of the state. */
#include "fluid/slopes.h"

#include "fluid/lean.h"
#include "fluid/plant.h"

static const double DOUBLING = 0.69314718055994530942; /* slow start doubles the window in one round trip */

/* fluid_observe for one queue, with one division for each delay. */
static void observe_plain(pi2_fluid *run, fluid_point *at)
{
    const fluid_mode *mode = run->mode;
    fluid_view *view = &at->view;
    const double kept = run->thins ? fluid_kept(run, at->y) : 1.0;
    double arrivals = 0.0;
    view->tau[0] = at->y[0] / mode->capacity;
    for (int g = 0; g < run->group_count; g++) {
        view->rtt[g] = run->groups[g].base_rtt + view->tau[0];
        run->groups[g].inverse_rtt = 1.0 / view->rtt[g];
    }
    for (int i = 0; i < run->class_count; i++) {
        const fluid_class *c = run->classes + i;
        const fluid_share *share = mode->of + i;
        if (!share->active)
            view->rates[i] = 0.0;
        else if (c->plain && !share->ramping)
            view->rates[i] = share->count * (at->y[c->x] * run->groups[c->group].inverse_rtt);
        else
            view->rates[i] = fluid_count(run, at->t, mode, i)
                             * c->law->sending_rate(c->parameters, at->y + c->x, view->rtt[c->group]);
        if (c->thinned)
            view->rates[i] *= kept;
        arrivals += view->rates[i];
    }
    view->arrivals = arrivals;
    view->net[0] = arrivals - mode->capacity;
    view->served[0] = mode->bound[0] == EMPTY ? arrivals : mode->capacity;
}

void fluid_head(pi2_fluid *run, fluid_point *at)
{
    if (run->kind != GENERAL)
        observe_plain(run, at);
    else
        fluid_observe(run, at->t, at->y, run->mode, &at->view);
    fluid_queue_slopes(run, at->view.net, run->mode, at->f);
    if (run->arrived >= 0)
        for (int k = 0; k < run->bands; k++)
            at->f[run->arrived + k] = at->view.served[k] + at->f[k];
}

/* Goes to where a group reads the past, and returns that instant. */
static double go_back(pi2_fluid *run, fluid_group *group, double t)
{
    t = reader_go(&group->reader, &run->past, t);
    group->s = t - group->reader.from;
    return t;
}

static double then(const pi2_fluid *run, const fluid_group *group, int component)
{
    return past_value(group->reader.cubics, run->stored, component, group->s);
}

/* Returns the round-trip time that the group met then, and leaves the signals of then in `group`. */
static double read_plain(pi2_fluid *run, fluid_group *group, double t)
{
    const fluid_mode *mode = group->reader.mode;
    double state[PI2_AQM_STATES];
    go_back(run, group, t);
    for (int j = 0; j < run->moving; j++)
        state[run->moves[j]] = then(run, group, run->controller + j);
    group->signals = fluid_shown(run, state, NULL, fluid_sides(run, mode));
    return group->base_rtt + then(run, group, 0) / mode->capacity;
}

static double read_general(pi2_fluid *run, fluid_group *group, double t)
{
    const fluid_mode *mode = group->reader.mode;
    t = go_back(run, group, t);
    past_values(group->reader.cubics, run->stored, group->s, run->then);
    if (run->aqm->rate_signals)
        fluid_observe(run, t, run->then, mode, &run->view_then);
    else
        fluid_find_delays(run, t, run->then, mode, &run->view_then);
    group->signals = fluid_signals(run, run->then, mode, &run->view_then);
    return run->view_then.rtt[group - run->groups];
}

/* The state of class i, and the probability of a signal, that it hears of: the past has been read. */
static double hear(const pi2_fluid *run, int i, double *x_delayed)
{
    const fluid_class *c = run->classes + i;
    const fluid_group *group = run->groups + c->group;
    const fluid_mode *mode = group->reader.mode;
    x_delayed[0] = then(run, group, c->x);
    if (!c->plain)
        for (int j = 1; j < c->states; j++)
            if (c->law->recalls & (1u << j))
                x_delayed[j] = then(run, group, c->x + j);
    return mode->signalling && mode->of[i].active ? fluid_signal_of(run, i, group->signals) : 0.0;
}

/* dx/dt of class i by its law, of which the past has been read; *signals: those it hears of per second. */
static void law_slopes(const pi2_fluid *run, int i, const double *x, double rtt, double *slopes, double *signals)
{
    const fluid_class *c = run->classes + i;
    const double back = run->groups[c->group].rtt_then;
    double x_delayed[PI2_SENDER_STATES];
    const double p = hear(run, i, x_delayed);
    *signals = x_delayed[0] / back * p;
    if (c->plain)
        slopes[0] = fluid_window_rate(&c->law->plain, x[0], *signals, 1.0 / rtt);
    else {
        const signed char *sides = fluid_rate_sides(run, c);
        c->law->rate(c->parameters, x, x_delayed, p, rtt, back, sides, slopes);
        if (sides && !fluid_have_values(slopes, c->states))
            c->law->rate(c->parameters, x, x_delayed, p, rtt, back, NULL, slopes);
    }
}

static void read(pi2_fluid *run, fluid_group *group, double t)
{
    group->rtt_then = run->kind == GENERAL ? read_general(run, group, t) : read_plain(run, group, t);
}

double fluid_window_slope(pi2_fluid *run, int i, double t, const double *y, const fluid_view *view)
{
    const fluid_class *c = run->classes + i;
    const double rtt = view->rtt[c->group];
    double slopes[PI2_SENDER_STATES], signals;
    run->heard = 0;
    read(run, run->groups + c->group, t - rtt);
    law_slopes(run, i, y + c->x, rtt, slopes, &signals);
    return slopes[0];
}

void fluid_rate_differences(pi2_fluid *run, int i, double t, const double *y, const fluid_view *view, double *values)
{
    const fluid_class *c = run->classes + i;
    const double rtt = view->rtt[c->group];
    double x_delayed[PI2_SENDER_STATES], p;
    if (!(run->heard && y == run->trial->y && !run->overlaps)) {
        read(run, run->groups + c->group, t - rtt);
        run->heard = 0;
    }
    p = hear(run, i, x_delayed);
    c->law->differences(c->parameters, y + c->x, x_delayed, p, rtt, run->groups[c->group].rtt_then,
                        fluid_rate_sides(run, c), values);
}

static void sender_slopes(pi2_fluid *run, fluid_point *at, int i)
{
    const fluid_class *c = run->classes + i;
    const double rtt = at->view.rtt[c->group];
    double signals;
    law_slopes(run, i, at->y + c->x, rtt, at->f + c->x, &signals);
    if (run->floored[i])
        at->f[c->x] = 0.0;
    if (run->mode->of[i].slow)
        at->f[c->x] = DOUBLING * at->y[c->x] / rtt;
    if (c->expected >= 0)
        at->f[c->expected] = run->mode->of[i].slow ? signals : 0.0;
}

void fluid_tail(pi2_fluid *run, fluid_point *at)
{
    const fluid_mode *mode = run->mode;
    for (int k = 0; k < run->hearing_count; k++) {
        fluid_group *group = run->hearing[k];
        read(run, group, at->t - at->view.rtt[group->number]);
    }
    run->heard = at == run->trial;
    for (int i = 0; i < run->class_count; i++) {
        const fluid_class *c = run->classes + i;
        if (mode->of[i].active && c->listens)
            sender_slopes(run, at, i);
        else {
            for (int j = 0; j < c->states; j++)
                at->f[c->x + j] = 0.0;
            if (c->expected >= 0)
                at->f[c->expected] = 0.0;
        }
    }
    fluid_controller_slope(run, at->y, &at->view, at->f + run->controller);
    for (int j = 0; j < run->moving; j++)
        if (run->held[j] != 0.0)
            at->f[run->controller + j] = 0.0;
}

void fluid_choose_kind(pi2_fluid *run)
{
    run->hearing_count = run->heard = 0;
    for (int g = 0; g < run->group_count; g++)
        for (int i = 0; i < run->class_count; i++)
            if (run->classes[i].group == g && run->mode->of[i].active && run->classes[i].listens) {
                run->hearing[run->hearing_count++] = run->groups + g;
                break;
            }
    run->slow = 0;
    for (int i = 0; i < run->class_count; i++)
        run->slow |= run->mode->of[i].slow;
    run->kind = lean_fits(run) ? LEAN_KIND : run->bands == 2 || run->aqm->queue_signals ? GENERAL : PLAIN;
    if (run->kind == LEAN_KIND)
        lean_prepare(run);
}

void fluid_slopes(pi2_fluid *run, fluid_point *at)
{
    if (run->kind == LEAN_KIND)
        lean_slopes(run, at);
    else {
        fluid_head(run, at);
        fluid_tail(run, at);
    }
}
