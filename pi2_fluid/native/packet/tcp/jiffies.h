/* The kernel's timer wheel. */
#ifndef PI2_PACKET_JIFFIES_H
#define PI2_PACKET_JIFFIES_H

#include <stdint.h>

#include "packet/tcp/published.h"

/* When a timer of `ms` jiffies, set at `now` (ns), fires at 1000 Hz: the kernel's wheel rounds up to its levels of
 * 1, 8, 64, 512 and 4096 ms, and is one late. */
static inline int64_t pi2_jiffy_timer(int64_t now, int64_t ms)
{
    const int64_t jiffy = 1000000000 / PI2_HZ, due = now / jiffy + ms;
    int shift = 0;
    for (int64_t reach = 63; ms >= reach && shift < 24; reach = reach * 8)
        shift += 3;
    return ((due >> shift) + 1) * (INT64_C(1) << shift) * jiffy;
}

#endif
