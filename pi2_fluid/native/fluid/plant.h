/* What follows from the state of one instant. */
#pragma once

#include "fluid/run.h"

/* The probability with which packets of a class are signalled. */
static inline double fluid_signal_of(const pi2_fluid *run, int i, pi2_signal signals)
{
    return signal_of(run->classes[i].signal, run->classes[i].thinned, signals);
}

static inline double fluid_count(const pi2_fluid *run, double t, const fluid_mode *mode, int i)
{
    return share_count(mode->of + i, t, run->classes[i].start, run->classes[i].start_jitter);
}

/* Delays and round-trip times alone; of two bands the share of the link that they follow from. */
void fluid_find_delays(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode, fluid_view *view);
void fluid_observe(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode, fluid_view *view);
void fluid_state(const pi2_fluid *run, const double *y, double *state);
void fluid_seen(const pi2_fluid *run, const double *y, const fluid_mode *mode, const fluid_view *view, pi2_seen *seen);
/* What is left of thinned traffic. */
double fluid_kept(const pi2_fluid *run, const double *y);
pi2_signal fluid_signals(const pi2_fluid *run, const double *y, const fluid_mode *mode, const fluid_view *view);
/* How fast all packets together would grow in number, were there room. */
double fluid_growth(const pi2_fluid *run, const double *net, const fluid_mode *mode);
/* dq/dt of each queue within the bounds that hold. */
void fluid_queue_slopes(const pi2_fluid *run, const double *net, const fluid_mode *mode, double *slopes);
/* d(moving states)/dt before clipping. */
void fluid_controller_slope(const pi2_fluid *run, const double *y, const fluid_view *view, double *slope);
