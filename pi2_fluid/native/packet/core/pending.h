/* What is still to come, timers and pipes: as fast as can be or, to compare with, as plain as can be. */
#pragma once

#ifdef PI2_PLAIN_CORE
#include "packet/core/plain_core.h"
#else
#include "packet/core/pipes.h"
#include "packet/core/timers.h"
#endif
