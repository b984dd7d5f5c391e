/* What follows from the state of one instant: delays, rates, what the queue sees, how the controller moves. */
#include "fluid/plant.h"

#include "fluid/controller.h"

double fluid_kept(const pi2_fluid *run, const double *y)
{
    double state[PI2_AQM_STATES];
    fluid_state(run, y, state);
    return 1.0 - run->aqm->encode(run->law, run->aqm->controller(run->law, state)).classic;
}

/* Of those bands that are asked for. */
static void find_rates(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode, const int asked[2],
                       fluid_view *view)
{
    const double kept = run->thins ? fluid_kept(run, y) : 1.0;
    for (int i = 0; i < run->class_count; i++) {
        const fluid_class *c = run->classes + i;
        if (!asked[c->band])
            continue;
        view->rates[i] = 0.0;
        if (mode->of[i].active) {
            const double rtt = view->rtt[c->group];
            view->rates[i] = fluid_count(run, t, mode, i)
                             * (c->plain ? y[c->x] / rtt
                                                     : c->law->sending_rate(c->parameters, y + c->x, rtt));
        }
        if (c->thinned)
            view->rates[i] *= kept;
    }
}

static void find_rtts(const pi2_fluid *run, const double tau[2], fluid_view *view)
{
    for (int g = 0; g < run->group_count; g++)
        view->rtt[g] = run->groups[g].base_rtt + tau[run->groups[g].band];
}

static void add_arrivals(const pi2_fluid *run, const fluid_view *view, double arrivals[2])
{
    arrivals[0] = arrivals[1] = 0.0;
    for (int i = 0; i < run->class_count; i++)
        arrivals[run->classes[i].band] += view->rates[i];
}

static const int BOTH[2] = {1, 1};

static void observe_one(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode, fluid_view *view)
{
    double arrivals[2];
    find_rates(run, t, y, mode, BOTH, view);
    add_arrivals(run, view, arrivals);
    view->arrivals = arrivals[0];
    view->net[0] = arrivals[0] - mode->capacity;
    view->served[0] = mode->bound[0] == EMPTY ? arrivals[0] : mode->capacity;
}

/* A dual queue shares the link: an idle band's delay is 0, a backlogged one's follows from its share. Leaves what each
 * is served, and the rates of all as if none waited. */
static void find_two_delays(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode,
                            const int waits[2], fluid_view *view)
{
    static const double none[2] = {0.0, 0.0};
    double arrivals[2];
    find_rtts(run, none, view);
    find_rates(run, t, y, mode, BOTH, view);
    add_arrivals(run, view, arrivals);
    run->aqm->serve(run->law, waits, arrivals, mode->capacity, view->served);
    for (int k = 0; k < 2; k++)
        view->tau[k] = waits[k] ? y[k] / view->served[k] : 0.0;
    find_rtts(run, view->tau, view);
}

static void observe_two(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode, const int waits[2],
                        fluid_view *view)
{
    double arrivals[2], if_waiting[2];
    find_rates(run, t, y, mode, waits, view);
    add_arrivals(run, view, arrivals);
    view->arrivals = 0.0;
    for (int i = 0; i < run->class_count; i++)
        view->arrivals += view->rates[i];
    for (int k = 0; k < 2; k++) {
        /* A queue that is held empty leaves 0 when it would not be served what arrives. */
        const int then[2] = {waits[0] || k == 0, waits[1] || k == 1};
        if (!waits[k])
            run->aqm->serve(run->law, then, arrivals, mode->capacity, if_waiting);
        view->net[k] = arrivals[k] - (waits[k] ? view->served[k] : if_waiting[k]);
    }
}

void fluid_find_delays(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode, fluid_view *view)
{
    if (run->bands == 1) {
        view->tau[0] = y[0] / mode->capacity;
        find_rtts(run, view->tau, view);
    } else {
        const int waits[2] = {mode->bound[0] != EMPTY, mode->bound[1] != EMPTY};
        find_two_delays(run, t, y, mode, waits, view);
    }
}

void fluid_observe(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode, fluid_view *view)
{
    fluid_find_delays(run, t, y, mode, view);
    if (run->bands == 1)
        observe_one(run, t, y, mode, view);
    else {
        const int waits[2] = {mode->bound[0] != EMPTY, mode->bound[1] != EMPTY};
        observe_two(run, t, y, mode, waits, view);
    }
}

void fluid_state(const pi2_fluid *run, const double *y, double *state)
{
    controller_state(run->states, run->state, run->moving, run->moves, y + run->controller, state);
}

double fluid_growth(const pi2_fluid *run, const double *net, const fluid_mode *mode)
{
    double sum = 0.0;
    for (int k = 0; k < run->bands; k++)
        if (mode->bound[k] != EMPTY)
            sum += net[k];
    return sum;
}

void fluid_seen(const pi2_fluid *run, const double *y, const fluid_mode *mode, const fluid_view *view, pi2_seen *seen)
{
    const int two = run->bands == 2;
    seen->queue_delay[0] = view->tau[0];
    seen->queue_delay[1] = two ? view->tau[1] : 0.0;
    seen->queue = two ? y[0] + y[1] : y[0];
    seen->arrival_rate = view->arrivals;
    seen->capacity = mode->capacity;
    seen->overflow = 0.0;
    if (mode->bound[0] == FULL || (two && mode->bound[1] == FULL)) {
        const double growth = fluid_growth(run, view->net, mode);
        seen->overflow = growth > 0.0 ? growth : 0.0;
    }
}

pi2_signal fluid_signals(const pi2_fluid *run, const double *y, const fluid_mode *mode, const fluid_view *view)
{
    double state[PI2_AQM_STATES];
    pi2_seen seen;
    fluid_state(run, y, state);
    if (run->aqm->queue_signals)
        fluid_seen(run, y, mode, view, &seen);
    return fluid_shown(run, state, &seen, fluid_sides(run, mode));
}

void fluid_queue_slopes(const pi2_fluid *run, const double *net, const fluid_mode *mode, double *slopes)
{
    double growing = 0.0, freed = 0.0;
    int full = 0;
    for (int k = 0; k < run->bands; k++) {
        slopes[k] = mode->bound[k] == EMPTY ? 0.0 : net[k];
        full |= mode->bound[k] == FULL;
        if (slopes[k] > 0.0)
            growing += slopes[k];
        else
            freed -= slopes[k];
    }
    /* Room that one band frees is taken by the other; the rest is lost. */
    if (full && growing > freed)
        for (int k = 0; k < run->bands; k++)
            if (slopes[k] > 0.0)
                slopes[k] = slopes[k] * freed / growing;
}

static void move(const pi2_fluid *run, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    if (run->continuous)
        run->aqm->flow(run->law, state, seen, d_queue_delay, sides, slope);
    else
        run->aqm->drift(run->law, state, seen, sides, slope);
}

void fluid_controller_slope(const pi2_fluid *run, const double *y, const fluid_view *view, double *slope)
{
    const signed char *sides = fluid_sides(run, run->mode);
    double state[PI2_AQM_STATES], all[PI2_AQM_STATES], growth[2];
    pi2_seen seen;
    if (!run->continuous && !run->aqm->drift) {
        for (int j = 0; j < run->moving; j++)
            slope[j] = 0.0;
        return;
    }
    fluid_state(run, y, state);
    fluid_seen(run, y, run->mode, view, &seen);
    fluid_queue_slopes(run, view->net, run->mode, growth);
    move(run, state, &seen, growth[0] / run->mode->capacity, sides, all);
    if (sides && !fluid_have_values(all, run->states))
        move(run, state, &seen, growth[0] / run->mode->capacity, NULL, all);
    for (int j = 0; j < run->moving; j++)
        slope[j] = all[run->moves[j]];
}
