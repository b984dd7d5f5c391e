/* Paths: the legs of every class, and the pipes between them. */
#pragma once

#include "packet/run/run.h"

/* 0 if there is no memory. */
int pi2_paths_new(pi2_run *run, const pi2_packet_scenario *scenario);
void pi2_paths_free(pi2_run *run);
/* ns of a base_rtt behind the last link of a class, and on the way back, */
int64_t pi2_paths_split(const pi2_packet_scenario *scenario, const pi2_packet_class *spec, int64_t base_rtt,
                        int64_t *back);
/* which that of a class becomes, for what is sent from now on: it comes after what is under way. */
void pi2_paths_change(pi2_run *run, const pi2_class *class_, int64_t forward, int64_t back);
