/* Reno: one segment more per window, a fraction less per signal. What all algorithms share is here as well.
 *
 * Sources: RFC 5681, section 3.1; growth counts segments, not acknowledgements (RFC 3465), as Linux 6.18 does, unless
 * it is asked for the latter.
 */
#include "packet/tcp/congestion.h"

#include <string.h>

#define FIELDS(F) \
    F(decrease) /* fraction of the window removed per signal, in (0, 1] */ \
    F(per_ack)  /* 1: an acknowledgement counts once, however many segments it is for (RFC 5681; ns-3's TcpNewReno) */

typedef struct {
    FIELDS(PI2_FIELD)
} reno_parameters;

uint32_t pi2_slow_start(pi2_window *window, uint32_t acked)
{
    const uint32_t room = window->ssthresh - window->cwnd;
    const uint32_t taken = acked < room ? acked : room;
    window->cwnd += taken;
    return acked - taken;
}

void pi2_additive_increase(pi2_window *window, uint32_t per, uint32_t acked)
{
    /* What was counted while the window was larger is worth one segment, however much it is. */
    if (window->counter >= per) {
        window->counter = 0;
        window->cwnd++;
    }
    window->counter += acked;
    if (window->counter >= per) {
        const uint32_t segments = window->counter / per;
        window->counter -= segments * per;
        window->cwnd += segments;
    }
}

static void begin(const void *parameters, void *state, const pi2_window *window, int64_t now)
{
    (void)parameters, (void)state, (void)window, (void)now;
}

void pi2_reno_grow(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t now)
{
    (void)parameters, (void)state, (void)now;
    if (window->cwnd < window->ssthresh) {
        acked = pi2_slow_start(window, acked);
        if (!acked)
            return;
    }
    pi2_additive_increase(window, window->cwnd, acked);
}

static void grow(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t now)
{
    const reno_parameters *p = parameters;
    pi2_reno_grow(parameters, state, window, p->per_ack != 0.0 && acked ? 1 : acked, now);
}

static uint32_t ssthresh(const void *parameters, void *state, const pi2_window *window, int64_t now, int because)
{
    const double decrease = ((const reno_parameters *)parameters)->decrease;
    (void)state, (void)now, (void)because;
    if (decrease == 0.5)
        return pi2_at_least_two(window->cwnd >> 1);
    /* 0.7 x 30 is 21, although the nearest double to 0.7 is less than that. */
    return pi2_at_least_two((uint32_t)(window->cwnd * (1.0 - decrease) + 1e-6));
}

const double pi2_usual_reno[] = {0.5, 0.0}; /* in the order of FIELDS */

const pi2_congestion pi2_cc_reno = {
    .name = "reno", PI2_CONFIGURED_BY(FIELDS), .begin = begin, .grow = grow, .ssthresh = ssthresh};

const pi2_congestion *pi2_find_congestion(const char *name)
{
    static const pi2_congestion *const all[] = {
#define PI2_CC(name) &pi2_cc_##name,
#include "laws.def"
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i]->name, name))
            return all[i];
    return NULL;
}
