/* DCTCP: the window falls in proportion to the smoothed fraction of marks.
 *
 * Sources: RFC 8257, sections 3.3 to 3.5; the integer form is the arithmetic of Linux 6.18's tcp_dctcp, in which a
 * marked fraction below 1/64 of a window adds nothing and alpha below 1/64 falls to 0 (at the gain 1/16). Linux 3.18
 * has alpha stay where a sixteenth of it is less than one part, at 15/1024, and reduces by alpha/2 at losses, too.
 */
#include "packet/tcp/congestion/dctcp.h"

#include "packet/tcp/congestion.h"
#include "packet/tcp/published.h"

enum { ALPHA_BITS = 10 }; /* log2 of PI2_DCTCP_ONE */

_Static_assert(sizeof(pi2_dctcp) <= PI2_CC_STATE_BYTES, "the state must fit into its block");
_Static_assert(PI2_DCTCP_ONE == 1 << ALPHA_BITS, "both say what alpha = 1 is");

static void begin(const void *parameters, void *state, const pi2_window *window, int64_t now)
{
    const pi2_dctcp_parameters *p = parameters;
    pi2_dctcp *s = state;
    (void)now;
    *s = (pi2_dctcp){.alpha = p->fixed != 0.0 ? PI2_DCTCP_ONE : 1.0, .window_end = window->next};
    while (s->shift < ALPHA_BITS && p->gain * (1 << s->shift) < 0.75)
        s->shift++;
}

static uint32_t ssthresh(const void *parameters, void *state, const pi2_window *window, int64_t now, int because)
{
    const pi2_dctcp_parameters *p = parameters;
    const pi2_dctcp *s = state;
    const uint32_t w = window->cwnd;
    (void)now;
    if (because == PI2_BECAUSE_LOSS && p->old == 0.0) /* RFC 8257, section 3.5 */
        return pi2_at_least_two(w >> 1);
    if (p->fixed != 0.0)
        return pi2_at_least_two(w - (uint32_t)(((uint64_t)w * (uint64_t)s->alpha) >> (ALPHA_BITS + 1)));
    /* Whole segments, rounded as the integers are: near rest a reduction is hardly more than one, so that rounding it
     * the other way, or keeping what is left over, would move the mean window by a third. */
    return pi2_at_least_two(w - (uint32_t)(0.5 * s->alpha * w));
}

static double next_alpha_fixed(const pi2_dctcp *s, int old)
{
    uint32_t alpha = (uint32_t)s->alpha;
    const uint32_t decay = alpha >> s->shift;
    alpha -= decay || old ? decay : alpha;
    if (s->marked && s->delivered)
        alpha += (uint32_t)(((uint64_t)s->marked << (ALPHA_BITS - s->shift)) / s->delivered);
    return alpha < PI2_DCTCP_ONE ? alpha : PI2_DCTCP_ONE;
}

static void marks(const void *parameters, void *state, pi2_window *window, uint32_t delivered, uint32_t marked,
                  int64_t now)
{
    const pi2_dctcp_parameters *p = parameters;
    pi2_dctcp *s = state;
    (void)now;
    s->delivered += delivered;
    s->marked += marked;
    if ((int32_t)(window->una - s->window_end) < 0)
        return;
    if (p->fixed != 0.0)
        s->alpha = next_alpha_fixed(s, p->old != 0.0);
    else if (s->delivered)
        s->alpha += p->gain * ((double)s->marked / s->delivered - s->alpha);
    s->window_end = window->next;
    s->delivered = s->marked = 0;
}

const pi2_congestion pi2_cc_dctcp = {.name = "dctcp",
                                     PI2_CONFIGURED_BY(PI2_DCTCP_FIELDS),
                                     .flags = PI2_CC_EXACT_CE,
                                     .without_ecn = &pi2_cc_reno,
                                     .parameters_without_ecn = pi2_usual_reno,
                                     .begin = begin,
                                     .grow = pi2_reno_grow,
                                     .ssthresh = ssthresh,
                                     .marks = marks};
