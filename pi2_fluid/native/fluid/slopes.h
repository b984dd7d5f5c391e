/* The right-hand side. */
#pragma once

#include "fluid/run.h"

/* After every change of who sends: who listens, and which way of computing the slopes serves. */
void fluid_choose_kind(pi2_fluid *run);
/* The head is what does not look at the past, the tail the rest. */
void fluid_head(pi2_fluid *run, fluid_point *at);
void fluid_tail(pi2_fluid *run, fluid_point *at);
/* Both at once, for a state that is no end of a step. */
void fluid_slopes(pi2_fluid *run, fluid_point *at);
/* What the comparisons of class i look at. */
void fluid_rate_differences(pi2_fluid *run, int i, double t, const double *y, const fluid_view *view, double *values);
/* dW/dt of class i by its law, whatever holds the window. */
double fluid_window_slope(pi2_fluid *run, int i, double t, const double *y, const fluid_view *view);
