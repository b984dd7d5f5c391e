/* TCP Prague: DCTCP in fractions of segments, growing on unmarked segments also where it is reduced, and by a virtual
 * round-trip time, so that over short paths it is no faster and no jumpier than over one of target_rtt.
 *
 * Source: draft-briscoe-iccrg-prague-congestion-control, and the rules that its public Linux code follows (0.6, 0.7).
 */
#include "packet/tcp/congestion/prague.h"

#include <math.h>

#include "packet/tcp/congestion.h"
#include "packet/tcp/published.h"

_Static_assert(sizeof(pi2_prague) <= PI2_CC_STATE_BYTES, "the state must fit into its block");

/* Segments. The two that are sent at least would go on being marked, while the window falls to a fraction of one, and the
 * next that is not marked would add its inverse. */
#define LEAST 1.0

static int64_t target_of(const pi2_prague_parameters *p)
{
    return (int64_t)(p->target_rtt * 1e9 + 0.5);
}

static void begin(const void *parameters, void *state, const pi2_window *window, int64_t now)
{
    const pi2_prague_parameters *p = parameters;
    (void)now;
    *(pi2_prague *)state = (pi2_prague){
        .window = window->cwnd, .cwnd = window->cwnd, .alpha = p->first_alpha, .round_end = window->next};
}

static uint32_t in_whole_segments(double window)
{
    return pi2_at_least_two((uint32_t)ceil(window < PI2_NO_THRESHOLD ? window : PI2_NO_THRESHOLD));
}

/* A window begins in which no other reduction is due. */
static void begin_reducing(pi2_prague *s, const pi2_window *window)
{
    s->reducing = 1;
    s->high = window->next;
}

static uint32_t ssthresh(const void *parameters, void *state, const pi2_window *window, int64_t now, int because)
{
    pi2_prague *s = state;
    (void)parameters, (void)because; /* marks are met below */
    s->window = 0.5 * window->cwnd;
    s->reduced = now;
    begin_reducing(s, window);
    return in_whole_segments(s->window);
}

/* The first mark halves, whatever alpha is, and ends slow start. */
static void meet_mark(pi2_prague *s, pi2_window *window, int independent, int64_t target, int64_t now)
{
    begin_reducing(s, window);
    if (window->ssthresh > window->cwnd)
        window->ssthresh = window->cwnd;
    if (s->met_mark && independent && now - s->reduced < target)
        return; /* nor will a later mark of this window reduce it */
    s->window -= 0.5 * (s->met_mark ? s->alpha : 1.0) * s->window;
    if (s->window < LEAST)
        s->window = LEAST;
    s->reduced = now;
    s->met_mark = 1;
}

static void update_alpha(const pi2_prague_parameters *p, pi2_prague *s, const pi2_window *window, int64_t now)
{
    if (s->met_mark && s->delivered)
        s->alpha += p->gain * ((double)s->marked / s->delivered - s->alpha);
    s->delivered = s->marked = 0;
    s->round_end = window->next;
    s->updated = now;
    s->rounds += window->cwnd >= window->ssthresh;
}

static void marks(const void *parameters, void *state, pi2_window *window, uint32_t delivered, uint32_t marked,
                  int64_t now)
{
    const pi2_prague_parameters *p = parameters;
    pi2_prague *s = state;
    const int64_t target = target_of(p);
    const int independent = s->rounds >= p->rounds;
    const double part = independent && window->srtt < target ? (double)window->srtt / (double)target : 1.0;
    if (s->cwnd != window->cwnd && window->cwnd != in_whole_segments(s->window))
        s->window = window->cwnd; /* recovery set it, or undid what it had */
    s->delivered += delivered;
    s->marked += marked;
    s->unmarked = delivered - marked;
    s->added = part * part;
    if (s->reducing && (int32_t)(window->una - s->high) > 0)
        s->reducing = 0;
    if (marked && !s->reducing)
        meet_mark(s, window, independent, target, now);
    if ((int32_t)(window->una - s->round_end) > 0 && (!independent || now - s->updated >= target))
        update_alpha(p, s, window, now);
    s->cwnd = window->cwnd;
}

/* cwnd is the window in whole segments, one segment nearer with each acknowledgement. */
static void follow(pi2_prague *s, pi2_window *window)
{
    const uint32_t whole = in_whole_segments(s->window);
    if (window->cwnd < whole)
        window->cwnd++;
    else if (window->cwnd > whole)
        window->ssthresh = --window->cwnd;
}

static void grow(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t now)
{
    pi2_prague *s = state;
    uint32_t unmarked = s->unmarked;
    (void)parameters, (void)acked, (void)now;
    if (window->cwnd < window->ssthresh) {
        unmarked = pi2_slow_start(window, unmarked);
        s->window = window->cwnd;
    }
    s->window += s->added * unmarked / s->window;
    follow(s, window);
    s->cwnd = window->cwnd;
}

const pi2_congestion pi2_cc_prague = {.name = "prague",
                                      PI2_CONFIGURED_BY(PI2_PRAGUE_FIELDS),
                                      .flags = PI2_CC_EXACT_CE | PI2_CC_NO_REDUCTION,
                                      .without_ecn = &pi2_cc_reno,
                                      .parameters_without_ecn = pi2_usual_reno,
                                      .begin = begin,
                                      .grow = grow,
                                      .ssthresh = ssthresh,
                                      .marks = marks};
