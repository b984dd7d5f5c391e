/* The discrete state: which bounds hold, who is in slow start, what a jump of the capacity does. */
#include "fluid/modes.h"

#include "fluid/controller.h"
#include "fluid/plant.h"

fluid_mode *fluid_change_mode(pi2_fluid *run)
{
    fluid_mode *mode = past_change_mode(&run->past);
    if (!mode) {
        run->status = PI2_FLUID_NO_MEMORY;
        mode = run->mode;
    }
    return run->mode = mode;
}

void fluid_set_bound(pi2_fluid *run, int k, int bound)
{
    if (run->mode->bound[k] != bound)
        fluid_change_mode(run)->bound[k] = (signed char)bound;
}

void fluid_clips(pi2_fluid *run)
{
    double slope[PI2_AQM_STATES], state[PI2_AQM_STATES];
    fluid_view *view = &run->scratch.view;
    if (!run->continuous)
        return;
    fluid_observe(run, run->now->t, run->now->y, run->mode, view);
    fluid_controller_slope(run, run->now->y, view, slope);
    fluid_state(run, run->now->y, state);
    controller_hold(run->aqm, run->law, run->moving, run->moves, slope, state, run->held);
}

void fluid_hold_bounds(pi2_fluid *run)
{
    const double *y = run->now->y;
    const double queued = run->bands == 2 ? y[0] + y[1] : y[0];
    fluid_view *view = &run->scratch.view;
    for (int round = 0; round < 2; round++) { /* whether one band is served decides about the other */
        signed char bound[2];
        fluid_observe(run, run->now->t, y, run->mode, view);
        for (int k = 0; k < run->bands; k++)
            bound[k] = y[k] <= 0.0 && view->net[k] <= 0.0 ? EMPTY
                       : queued >= run->buffer && fluid_growth(run, view->net, run->mode) >= 0.0 ? FULL
                                                                                                  : FREE;
        for (int k = 0; k < run->bands; k++)
            fluid_set_bound(run, k, bound[k]);
    }
    if (run->mode->bound[0] == FULL || (run->bands == 2 && run->mode->bound[1] == FULL))
        for (int i = 0; i < run->class_count; i++)
            fluid_end_slow_start(run, i);
    fluid_clips(run);
}

void fluid_jump(pi2_fluid *run, double tau_before, const pi2_seen *seen_before)
{
    double state[PI2_AQM_STATES], *y = run->now->y;
    fluid_observe(run, run->now->t, y, run->mode, &run->scratch.view);
    fluid_state(run, y, state);
    controller_jump(run->aqm, run->law, run->moving, run->moves, seen_before, run->scratch.view.tau[0] - tau_before,
                    state, y + run->controller);
}

void fluid_end_slow_start(pi2_fluid *run, int i)
{
    const fluid_class *c = run->classes + i;
    if (run->mode->of[i].slow && run->mode->of[i].active) {
        c->law->leave_slow_start(c->parameters, run->now->y + c->x);
        fluid_change_mode(run)->of[i].slow = 0;
    }
}
