/* A window that moves with acknowledgements: its law's growth, and its cuts as they are obeyed. */
#pragma once

#include "fluid/acks/run.h"

/* What the window of a stream is after a step, in stream->then; `acks` and `marks` of one flow. */
void acks_move_window(acks_stream *stream, const acks_past *past, acks_time step, double acks, double marks,
                      double rtt);
void acks_leave_slow_start(acks_stream *stream);
/* Begin as another class's window is now, reductions under way included. */
void acks_copy_window(acks_stream *stream, const acks_stream *other, acks_past *past);
