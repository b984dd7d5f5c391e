/* The packets of one class: sent, left and marked, and what sends them. */
#pragma once

#include "fluid/acks/run.h"

/* The part of a class's flight, or of its constant rate, that is built up at `t` (s). */
double acks_begun(const acks_stream *stream, double t);
/* What it has sent at the end of a step, behind a queue delay (s): into stream->sent. */
void acks_send(acks_stream *stream, const acks_past *past, acks_time step, double delay);
/* Take that step for good; what has been sent in it was signalled with probability `p`. */
void acks_keep_sent(acks_stream *stream, acks_past *past, acks_time step, double p);
/* Let everything leave that entered until some place; `p` is the signal at the exit, < 0: it is given on arrival. */
void acks_serve(acks_stream *stream, acks_past *past, acks_place entered, double p);
