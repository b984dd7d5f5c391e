/* What classes do between two known instants; those that rest, steps pass by: nothing of them is sent or waits. */
#pragma once

#include "fluid/acks/run.h"

/* Decides at `t`, a known instant, what they do until the next one. */
void acks_choose_phases(pi2_acks *run, double t);
/* Writes into the past what a class has been while it rested. */
void acks_catch_up(acks_source *source, const acks_past *past);
