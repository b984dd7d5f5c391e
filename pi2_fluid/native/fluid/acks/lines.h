/* The lines that packets wait in, and the link that they share. */
#pragma once

#include "fluid/acks/run.h"

/* What has arrived, could be served and found no room at the end of a step of `dt` s, whose packets have been sent:
 * into the lines; run->split says after which part of it something happens that it must end on. */
void acks_try_lines(pi2_acks *run, double dt);
/* Take that step for good, and return where what leaves at its end had come. */
acks_place acks_keep_line(acks_line *line, acks_past *past);
