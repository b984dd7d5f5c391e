/* CUBIC, in the integers of Linux: a cubic of the time since the last signal, but never slower than Reno.
 *
 * Sources: RFC 9438; the integer form, the clock and HyStart are those of Linux 6.18's tcp_cubic at HZ = 1000.
 * Before Linux 4.0 (3.18, the kernel of the PI2 paper), growth was counted in acknowledgements.
 */
#include "packet/tcp/congestion/cubic.h"

#include <stddef.h>
#include <string.h>

#include "packet/tcp/congestion.h"
#include "packet/tcp/published.h"

enum {
    NS_PER_TICK = 1000000000 / PI2_HZ,
    GATE = PI2_HZ / PI2_CUBIC_GATE_PARTS,
    UNIT_BITS = PI2_CUBIC_UNIT_BITS,
    RATIO_BITS = PI2_CUBIC_RATIO_BITS,
    SLACK_SEGMENTS = 90 /* of a burst: twice 64 KB, the pacing of slow start being twice the window per RTT */
};

_Static_assert(sizeof(pi2_cubic) <= PI2_CC_STATE_BYTES, "the state must fit into its block");

/* Start values of the iteration below for the cube root of x = 8 ... 63, in 1/64: round(64 (x + 0.3)^(1/3) 31/30).
 * Some 2 % too large: as the step overshoots by the square of that, and is scaled down by 1/1024, they meet. */
static const uint16_t root_table[64 - 8] = {
    134, 139, 144, 148, 153, 157, 161, 164, 168, 171, 174, 177, 180, 183, 186, 189, 192, 194, 197,
    199, 202, 204, 206, 208, 211, 213, 215, 217, 219, 221, 223, 225, 227, 229, 230, 232, 234, 236,
    237, 239, 241, 242, 244, 246, 247, 249, 250, 252, 253, 255, 256, 258, 259, 261, 262, 264};

/* Cube root within 0.2 % (for large x): the first bits from the table, and one step of Newton's method. */
static uint32_t cube_root(uint64_t x)
{
    uint32_t bits = 0, third;
    uint64_t root = 0;
    if (x < 64) {
        while ((root + 1) * (root + 1) * (root + 1) <= x)
            root++;
        return (uint32_t)root;
    }
    while (bits < 64 && x >> bits)
        bits++;
    third = bits * 84 / 256 - 1; /* so that 3 to 6 bits are left: 8 ... 63 */
    root = ((uint64_t)root_table[(x >> (3 * third)) - 8] << third) >> 6;
    root = 2 * root + x / (root * (root - 1));
    return (uint32_t)((root * 341) >> UNIT_BITS); /* a third, nearly */
}

/* A parameter in 1/1024, from `low` to `high` of them. */
static uint32_t in_1024ths(double value, double low, double high)
{
    const double scaled = value * 1024.0 + 0.5;
    return (uint32_t)(scaled < low ? low : scaled > high ? high : scaled);
}

static void forget(pi2_cubic *s)
{
    memset((char *)s + offsetof(pi2_cubic, cnt), 0, sizeof *s - offsetof(pi2_cubic, cnt));
    s->ack_ratio = 2 << RATIO_BITS;
}

static void begin(const void *parameters, void *state, const pi2_window *window, int64_t now)
{
    const pi2_cubic_parameters *p = parameters;
    pi2_cubic *s = state;
    (void)window, (void)now;
    s->c = in_1024ths(p->c, 1.0, 1 << 30);
    s->kept = 1024 - in_1024ths(p->decrease, 1.0, 1024.0);
    s->cube_factor = (UINT64_C(1) << 40) / s->c;
    /* 3 (1 - b)/(1 + b) segments per window, b being what is kept */
    s->friendly = p->friendly != 0.0 ? 8 * (1024 + s->kept) / 3 / (1024 - s->kept) : 0;
    s->longest = cube_root((UINT64_C(1) << 62) / s->c);
    forget(s);
}

static void timeout(const void *parameters, void *state)
{
    (void)parameters;
    forget(state);
}

static void begin_epoch(pi2_cubic *s, uint32_t cwnd, uint32_t acked, uint32_t now)
{
    s->in_epoch = 1;
    s->epoch_start = now;
    s->acked = acked;
    s->friendly_cwnd = cwnd;
    if (s->last_max <= cwnd) {
        s->k = 0;
        s->origin = cwnd;
    } else {
        const uint64_t climb = s->last_max - cwnd, most = s->cube_factor ? UINT64_MAX / s->cube_factor : climb;
        s->k = cube_root(s->cube_factor * (climb < most ? climb : most));
        s->origin = s->last_max;
    }
}

/* Segments to be acknowledged per segment of growth, to be on the cubic one round-trip time from now. */
static uint32_t cubic_cnt(const pi2_cubic *s, uint32_t cwnd, uint32_t now)
{
    const uint32_t ahead = (s->min_rtt + 999) / 1000; /* ticks */
    const uint64_t t = ((uint64_t)(now - s->epoch_start + ahead) << UNIT_BITS) / PI2_HZ;
    const int before = t < s->k;
    uint64_t offset = before ? s->k - t : t - s->k;
    int64_t target;
    uint32_t cnt;
    if (offset > s->longest)
        offset = s->longest;
    offset = (s->c * offset * offset * offset) >> (4 * UNIT_BITS);
    target = before ? (int64_t)s->origin - (int64_t)offset : (int64_t)s->origin + (int64_t)offset;
    cnt = target > (int64_t)cwnd ? (uint32_t)(cwnd / (uint64_t)(target - (int64_t)cwnd)) : PI2_CUBIC_SLOWEST * cwnd;
    return !s->last_max && cnt > PI2_CUBIC_FIRST_CNT ? PI2_CUBIC_FIRST_CNT : cnt;
}

/* The estimate of a Reno flow, from what was acknowledged. */
static void follow_friendly(pi2_cubic *s, uint32_t cwnd)
{
    uint32_t per = (uint32_t)(((uint64_t)cwnd * s->friendly) >> 3);
    per += !per;
    while (s->acked > per) {
        s->acked -= per;
        s->friendly_cwnd++;
    }
    if (s->friendly_cwnd > cwnd) {
        const uint32_t cnt = cwnd / (s->friendly_cwnd - cwnd);
        if (s->cnt > cnt)
            s->cnt = cnt;
    }
}

static void update(pi2_cubic *s, uint32_t cwnd, uint32_t acked, int64_t time, int old)
{
    const uint32_t now = (uint32_t)(time / NS_PER_TICK);
    s->acked += acked;
    if (s->last_cwnd == cwnd && now - s->last_time <= GATE)
        return;
    if (old || !s->in_epoch || now != s->last_time) { /* within one tick only the estimate moves */
        s->last_cwnd = cwnd;
        s->last_time = now;
        if (!s->in_epoch)
            begin_epoch(s, cwnd, acked, now);
        s->cnt = cubic_cnt(s, cwnd, now);
    }
    if (s->friendly)
        follow_friendly(s, cwnd);
    if (old)
        s->cnt = (s->cnt << RATIO_BITS) / s->ack_ratio;
    if (s->cnt < (old ? 1u : 2u))
        s->cnt = old ? 1 : 2;
}

static void grow(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t now)
{
    const pi2_cubic_parameters *p = parameters;
    pi2_cubic *s = state;
    const int old = p->old != 0.0;
    if (old) { /* in whole 16ths: from 2, single segments bring it down to 31/16 only */
        const uint32_t ratio = s->ack_ratio - (s->ack_ratio >> RATIO_BITS) + acked;
        const uint32_t most = PI2_CUBIC_MOST_RATIO << RATIO_BITS;
        s->ack_ratio = (uint16_t)(ratio < most ? ratio : most);
    }
    if (window->cwnd < window->ssthresh) {
        acked = pi2_slow_start(window, acked);
        if (!acked)
            return;
    }
    if (old)
        acked = 1;
    update(s, window->cwnd, acked, now, old);
    pi2_additive_increase(window, s->cnt, acked);
}

static uint32_t ssthresh(const void *parameters, void *state, const pi2_window *window, int64_t now, int because)
{
    pi2_cubic *s = state;
    const uint64_t cwnd = window->cwnd;
    (void)parameters, (void)now, (void)because;
    s->in_epoch = 0;
    /* Fast convergence: a flow whose peaks sink makes room. */
    s->last_max = (uint32_t)(cwnd < s->last_max ? (cwnd * (1024 + s->kept)) >> (UNIT_BITS + 1) : cwnd);
    return pi2_at_least_two((uint32_t)((cwnd * s->kept) >> UNIT_BITS));
}

/* Whether the acknowledgements of this round come in one train as long as the path is deep. */
static int train_is_long(pi2_cubic *s, const pi2_window *window, uint32_t us)
{
    int64_t slack = window->srtt / 1000 * SLACK_SEGMENTS / window->cwnd;
    if (us - s->last_ack > PI2_HYSTART_GAP_US)
        return 0;
    s->last_ack = us;
    if (slack > PI2_HYSTART_SLACK_US)
        slack = PI2_HYSTART_SLACK_US;
    return us - s->round_start > (s->min_rtt + (uint32_t)slack) / 2;
}

/* Whether the smallest delay of this round is clearly above that of the path. */
static int delay_has_grown(pi2_cubic *s, uint32_t rtt, int old)
{
    uint32_t more = s->min_rtt / (old ? PI2_HYSTART_PARTS_OLD : PI2_HYSTART_PARTS);
    if (s->round_rtt > rtt)
        s->round_rtt = rtt;
    if (s->samples < PI2_HYSTART_SAMPLES) {
        s->samples++;
        return 0;
    }
    more = more < PI2_HYSTART_LEAST_US ? PI2_HYSTART_LEAST_US
           : more > PI2_HYSTART_MOST_US ? PI2_HYSTART_MOST_US : more;
    return s->round_rtt > s->min_rtt + more;
}

static void hystart(pi2_cubic *s, pi2_window *window, uint32_t rtt, uint32_t us, int old)
{
    if (!s->in_round || (int32_t)(window->una - s->round_end) > 0) {
        s->in_round = 1;
        s->round_end = window->next;
        s->round_start = s->last_ack = us;
        s->round_rtt = UINT32_MAX;
        s->samples = 0;
    }
    if (window->cwnd < PI2_HYSTART_WINDOW)
        return;
    if (train_is_long(s, window, us))
        s->found = 1;
    if (delay_has_grown(s, rtt, old))
        s->found = 1;
    if (s->found)
        window->ssthresh = window->cwnd;
}

static void sample(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t rtt, int64_t now)
{
    const pi2_cubic_parameters *p = parameters;
    pi2_cubic *s = state;
    uint32_t us;
    (void)acked;
    /* After a reduction the queue is not what it was. */
    if (s->in_epoch && (uint32_t)(now / NS_PER_TICK) - s->epoch_start < PI2_HZ)
        return;
    us = (uint32_t)(rtt / 1000);
    us += !us;
    if (!s->min_rtt || s->min_rtt > us)
        s->min_rtt = us;
    if (!s->found && window->cwnd < window->ssthresh && p->hystart != 0.0)
        hystart(s, window, us, (uint32_t)(now / 1000), p->old != 0.0);
}

const pi2_congestion pi2_cc_cubic = {.name = "cubic",
                                     PI2_CONFIGURED_BY(PI2_CUBIC_FIELDS),
                                     .begin = begin,
                                     .grow = grow,
                                     .ssthresh = ssthresh,
                                     .sample = sample,
                                     .timeout = timeout};
