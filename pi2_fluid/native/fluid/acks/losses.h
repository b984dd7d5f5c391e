/* Packets that find no room. */
#pragma once

#include "fluid/acks/run.h"

/* From now on, all packets and those that are really there are two counts. */
void acks_begin_losses(pi2_acks *run);
