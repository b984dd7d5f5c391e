/* Paganini's source: it reads the price from the marks of the last segments, and every `interval` moves the window that
 * it expects; the window follows with acknowledgements, and packets leave one after the other, a window in each smallest
 * round-trip time.
 *
 * Source: Paganini, Wang, Low, Doyle (2002), Figure 3, equations (23), (24), and (25) to (27) as they follow from (19)
 * and (20). The paper does not say where it begins, what a register full of marks says, and what a loss does.
 */
#include "packet/tcp/congestion/paganini.h"

#include "packet/core/time.h"
#include "packet/tcp/congestion.h"

_Static_assert(sizeof(pi2_paganini_state) <= PI2_CC_STATE_BYTES, "the state must fit into its block");

/* Segments: no window is expected below one, and none beyond what is counted. */
static const double LEAST = 1.0, MOST = 1 << 30;

static int64_t interval_of(const pi2_paganini_parameters *p)
{
    const int64_t interval = pi2_ns(p->interval);
    return interval > 0 ? interval : 1;
}

static void begin(const void *parameters, void *state, const pi2_window *window, int64_t now)
{
    *(pi2_paganini_state *)state = (pi2_paganini_state){
        .window = window->cwnd, .expected = window->cwnd, .xi = log(window->cwnd), .cwnd = window->cwnd,
        .due = now + interval_of(parameters), .base_rtt = window->min_rtt};
}

/* The next segment's mark; what is older than the register is long, is forgotten when it is read. */
static void remember(const pi2_paganini_parameters *p, pi2_paganini_state *s, int marked)
{
    s->marks[1] = s->marks[1] << 1 | s->marks[0] >> 63;
    s->marks[0] = s->marks[0] << 1 | (unsigned)marked;
    s->seen += s->seen < p->window && s->seen < PI2_PAGANINI_MOST_MARKS;
}

static uint32_t ones(uint64_t bits)
{
    uint32_t count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

/* s. One more than all cannot be marked: where all are, it stands for half a segment less. */
static double price_seen(const pi2_paganini_parameters *p, const pi2_paganini_state *s)
{
    const uint32_t n = s->seen, high = n > 64 ? n - 64 : 0;
    const uint64_t low_mask = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    const uint64_t high_mask = high == 64 ? UINT64_MAX : (UINT64_C(1) << high) - 1;
    const uint32_t marked = ones(s->marks[0] & low_mask) + ones(s->marks[1] & high_mask);
    if (!marked)
        return 0.0;
    return pi2_paganini_price(&p->law, (marked < n ? marked : n - 0.5) / n);
}

/* (25) to (27); `moved`: by how much the damping has grown. A step to less than half of what it divides by is the
 * exponential's no more: the window doubles at most. */
static double next_window(const pi2_paganini_parameters *p, const pi2_paganini_state *s, double rtt, double price,
                          double moved)
{
    const double w = s->expected, gain = p->law.beta * p->interval / rtt;
    const double below = 1.0 + gain * price + moved;
    return (w + gain * w * pi2_paganini_wanted(&p->law, w / rtt)) / (below > 0.5 ? below : 0.5);
}

static void update(const pi2_paganini_parameters *p, pi2_paganini_state *s)
{
    const double rtt = (double)(s->base_rtt > 1 ? s->base_rtt : 1) * 1e-9, price = price_seen(p, s);
    const double damping = pi2_paganini_damping(&p->law, price, rtt);
    double expected;
    if (p->law.largest_rate > 0.0) {
        expected = p->law.largest_rate * rtt * exp(-damping);
    } else if (p->by_window != 0.0) {
        expected = next_window(p, s, rtt, price, damping - pi2_paganini_damping(&p->law, s->price, rtt));
    } else {
        s->xi += p->law.beta / rtt * (pi2_paganini_wanted(&p->law, s->expected / rtt) - price) * p->interval;
        expected = exp(s->xi - damping);
    }
    s->expected = expected > LEAST ? expected < MOST ? expected : MOST : LEAST;
    s->price = price;
}

/* Between two acknowledgements updates see the same marks: they are made when one comes, before it counts. */
static void catch_up(const pi2_paganini_parameters *p, pi2_paganini_state *s, int64_t now)
{
    for (; s->due <= now; s->due += interval_of(p))
        update(p, s);
}

static void marks(const void *parameters, void *state, pi2_window *window, uint32_t delivered, uint32_t marked,
                  int64_t now)
{
    pi2_paganini_state *s = state;
    catch_up(parameters, s, now);
    s->base_rtt = window->min_rtt;
    for (uint32_t i = delivered < PI2_PAGANINI_MOST_MARKS ? delivered : PI2_PAGANINI_MOST_MARKS; i > 0; i--)
        remember(parameters, s, i <= marked);
}

/* This window is expected, at the price that is seen. */
static void expect(const pi2_paganini_parameters *p, pi2_paganini_state *s)
{
    const double rtt = (double)(s->base_rtt > 1 ? s->base_rtt : 1) * 1e-9;
    s->expected = s->window;
    s->xi = log(s->window) + pi2_paganini_damping(&p->law, s->price, rtt);
}

static uint32_t ssthresh(const void *parameters, void *state, const pi2_window *window, int64_t now, int because)
{
    pi2_paganini_state *s = state;
    (void)window, (void)because; /* marks do not reduce it */
    catch_up(parameters, s, now);
    s->window *= 0.5;
    if (s->window < PI2_LEAST_WINDOW)
        s->window = PI2_LEAST_WINDOW;
    expect(parameters, s);
    return s->cwnd = (uint32_t)s->window;
}

/* Recovery left another window: after a timeout a small one, from which it comes back to the one that is expected; or
 * the one before a loss that was none. */
static void adopt(const pi2_paganini_parameters *p, pi2_paganini_state *s, const pi2_window *window)
{
    s->window = window->cwnd;
    if (window->cwnd >= window->prior_cwnd && s->window > s->expected)
        expect(p, s);
}

static void grow(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t now)
{
    const pi2_paganini_parameters *p = parameters;
    pi2_paganini_state *s = state;
    double missing;
    (void)now;
    if (window->cwnd != s->cwnd)
        adopt(p, s, window);
    missing = s->expected - s->window;
    if (missing > p->max_increment * acked)
        s->window += p->max_increment * acked;
    else if (missing < -p->max_decrement * acked)
        s->window -= p->max_decrement * acked;
    else
        s->window = s->expected;
    window->cwnd = s->cwnd = (uint32_t)s->window;
}

static double pace(const void *state, const pi2_window *window)
{
    return (double)window->min_rtt / ((const pi2_paganini_state *)state)->window;
}

const pi2_congestion pi2_cc_paganini = {.name = "paganini",
                                        PI2_CONFIGURED_BY(PI2_PAGANINI_CC_FIELDS),
                                        .flags = PI2_CC_EXACT_CE | PI2_CC_NO_REDUCTION,
                                        .begin = begin,
                                        .grow = grow,
                                        .ssthresh = ssthresh,
                                        .marks = marks,
                                        .pace = pace};
