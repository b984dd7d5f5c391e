/* The scalable sender of the PI2 paper: each marked segment takes a fixed part of a segment off the window.
 *
 * Source: De Schepper et al., "PI2", CoNEXT 2016, equation (22): W = 1/(per_mark p) at rest. A loss halves (RFC 5681).
 */
#include "packet/tcp/congestion.h"

#define FIELDS(F) F(per_mark) /* segments removed per marked segment, > 0 */

typedef struct {
    FIELDS(PI2_FIELD)
} scalable_parameters;

typedef struct {
    double owed; /* segments to be removed that do not make a whole one yet, [0, 1) */
} scalable;

_Static_assert(sizeof(scalable) <= PI2_CC_STATE_BYTES, "the state must fit into its block");

static void begin(const void *parameters, void *state, const pi2_window *window, int64_t now)
{
    (void)parameters, (void)window, (void)now;
    ((scalable *)state)->owed = 0.0;
}

static uint32_t ssthresh(const void *parameters, void *state, const pi2_window *window, int64_t now, int because)
{
    (void)parameters, (void)state, (void)now, (void)because;
    return pi2_at_least_two(window->cwnd >> 1);
}

static void marks(const void *parameters, void *state, pi2_window *window, uint32_t delivered, uint32_t marked,
                  int64_t now)
{
    scalable *s = state;
    (void)delivered, (void)now;
    if (!marked)
        return;
    s->owed += ((const scalable_parameters *)parameters)->per_mark * marked;
    if (window->cwnd <= PI2_LEAST_WINDOW || s->owed >= window->cwnd - PI2_LEAST_WINDOW) {
        /* At the floor nothing is owed: marks that could not act must not delay the recovery. */
        if (window->cwnd > PI2_LEAST_WINDOW)
            window->cwnd = PI2_LEAST_WINDOW;
        s->owed = 0.0;
    } else {
        const uint32_t whole = (uint32_t)s->owed;
        window->cwnd -= whole;
        s->owed -= whole;
    }
    if (window->ssthresh > window->cwnd) /* the first signal ends slow start */
        window->ssthresh = pi2_at_least_two(window->cwnd);
}

const pi2_congestion pi2_cc_scalable = {.name = "scalable",
                                        PI2_CONFIGURED_BY(FIELDS),
                                        .flags = PI2_CC_EXACT_CE | PI2_CC_NO_REDUCTION,
                                        .begin = begin,
                                        .grow = pi2_reno_grow,
                                        .ssthresh = ssthresh,
                                        .marks = marks};
