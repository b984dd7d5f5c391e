/* What is still to come, timers and pipes: as fast as can be or, to compare with, as plain as can be. */
#ifndef PI2_PACKET_PENDING_H
#define PI2_PACKET_PENDING_H

#ifdef PI2_PLAIN_CORE
#include "packet/core/plain_core.h"
#else
#include "packet/core/pipes.h"
#include "packet/core/timers.h"
#endif

#endif
