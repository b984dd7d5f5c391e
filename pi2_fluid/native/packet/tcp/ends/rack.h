/* What a sender takes for lost. */
#pragma once

#include "packet/run/run.h"
#include "packet/tcp/ends/news.h"

/* A segment arrived whose entry on the board is `entry`. */
void pi2_rack_delivered(pi2_flow *flow, uint64_t entry, uint32_t segment, int64_t now);
void pi2_mark_lost(pi2_flow *flow, uint32_t segment, pi2_news *news);
void pi2_look_for_losses(pi2_run *run, pi2_flow *flow, pi2_news *news, int64_t now);
/* Returns the ns after which to look again, 0: never. */
int64_t pi2_late_segments(pi2_flow *flow, pi2_news *news, int64_t now);
