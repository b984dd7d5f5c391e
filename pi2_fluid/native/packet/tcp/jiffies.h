/* The kernel's timer wheel. */
#pragma once

#include <stdint.h>

#include "packet/tcp/published.h"

/* When a timer of `ms` jiffies, set at `now` (ns), fires at 1000 Hz: the kernel's wheel rounds up to its levels of
 * 1, 8, 64 ... ms, and is one late. */
static inline int64_t pi2_jiffy_timer(int64_t now, int64_t ms)
{
    const int64_t jiffy = 1000000000 / PI2_HZ, due = now / jiffy + ms;
    int shift = 0;
    for (int64_t reach = PI2_WHEEL_BUCKETS - 1; ms >= reach && shift < (PI2_WHEEL_LEVELS - 1) * PI2_WHEEL_SHIFT;
         reach <<= PI2_WHEEL_SHIFT)
        shift += PI2_WHEEL_SHIFT;
    return ((due >> shift) + 1) * (INT64_C(1) << shift) * jiffy;
}
