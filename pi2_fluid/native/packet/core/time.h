/* Time: whole ns from the beginning of a run. */
#pragma once

#include <stdint.h>

#define PI2_NEVER INT64_MAX
#define PI2_PAST_THE_END (INT64_MAX - 1) /* of every run: not before something else is told */
#define PI2_MS INT64_C(1000000)

/* Seconds as ns, rounded to the nearest; durations only, and 2^62 ns for those that are longer. */
static inline int64_t pi2_ns(double seconds)
{
    const double ns = seconds * 1e9 + 0.5;
    return ns < 0x1p62 ? (int64_t)ns : INT64_C(1) << 62;
}
