/* The rate at which packets leave a queue, measured over cycles of a few packets while enough of them wait, and the
 * delay that follows from it. PIE paper (HPSR'13), section IV-B; RFC 8033, sections 4.3 and 5.2; Linux, sch_pie.
 *
 * Time is in ticks: 64 ns in integers, as in Linux, 1 ns in real numbers. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_TICK_SHIFT = 6, PI2_TICKS_PER_SECOND = 15625000 }; /* of the kernel's ticks of 64 ns */

typedef struct {
    int64_t threshold; /* bytes: what a cycle measures at least, and what must wait for one to begin */
    double weight;     /* of the newest rate; integers: always 1/8 */
    int integers;      /* 1: rates in whole 1/256 byte per tick */
    int quirks;        /* 1, integers only: a backlog above 16 MiB wraps around, as in 32 bits */
} pi2_rate_params;

typedef struct {
    int64_t count;  /* bytes that left in this cycle, -1 between cycles */
    int64_t start;  /* ticks, when it began */
    uint64_t rate;  /* integers: 1/256 byte per tick, 0 before the first cycle has ended */
    double average; /* real numbers: bytes per tick, 0 likewise */
} pi2_rate_vars;

void pi2_rate_reset(pi2_rate_vars *vars);

/* A packet of `bytes` leaves at `now` (ticks), and `backlog` bytes stay behind. Returns how long the cycle took
 * that this packet ended (ticks), 0 if it ended none. */
int64_t pi2_rate_leave(const pi2_rate_params *params, pi2_rate_vars *vars, int64_t bytes, int64_t backlog,
                       int64_t now);

/* Ticks that `backlog` bytes take to leave, 0 while no rate is known. */
int64_t pi2_rate_delay(const pi2_rate_params *params, const pi2_rate_vars *vars, int64_t backlog);

static inline int pi2_rate_known(const pi2_rate_vars *vars)
{
    return vars->rate != 0 || vars->average > 0.0;
}

#ifdef __cplusplus
}
#endif
