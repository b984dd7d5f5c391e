/* Paths: the legs of every class, and the pipes between them. */
#pragma once

#include "packet/run/run.h"

/* 0 if there is no memory. */
int pi2_paths_new(pi2_run *run, const pi2_packet_scenario *scenario);
void pi2_paths_free(pi2_run *run);
