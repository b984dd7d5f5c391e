/* Random parameters of every queue discipline. Times are drawn around the link's slot; what no kernel could have is left
 * out. */
#include "tests/packet/disciplines.h"

#include <math.h>

#include "tests/put.h"

static double from(pi2_choices *c, int n, const double *values)
{
    return values[pi2_pick(c, n)];
}

static double bit(pi2_choices *c)
{
    return pi2_pick(c, 2);
}

/* s: around some slots, or anything that packets can count. */
static double time_of(pi2_choices *c, const pi2_test_link *t)
{
    const double slot = 1e-9 * t->slot;
    const double s = pi2_chance(c, 0.9) ? slot * pi2_spread(c, 0.3, 100) : pi2_spread(c, 1e-9, 1e3);
    return fmin(fmax(s, 1e-9), 999.0);
}

static double time_or_none(pi2_choices *c, const pi2_test_link *t)
{
    return pi2_chance(c, 0.5) ? 0.0 : time_of(c, t);
}

/* s between updates: no more than some hundred in a run. */
static double interval_of(pi2_choices *c, const pi2_test_link *t)
{
    const double least = fmax(1e-9, 1e-9 * (double)t->duration / 500);
    return fmin(fmax(time_of(c, t), least), 9e5);
}

/* Hz: such that a delay of some slots moves p by some percent, or any other. */
static double gain_of(pi2_choices *c, const pi2_test_link *t)
{
    return pi2_chance(c, 0.8) ? fmin(1e5, pi2_spread(c, 1e-4, 1) * 1e9 / t->slot) : pi2_spread(c, 1e-2, 1e5);
}

static void begin(pi2_test_link *t, const char *name)
{
    t->spec->qdisc = pi2_find_qdisc(name);
}

static void put(pi2_test_link *t, const char *name, double value)
{
    pi2_put(t->spec->qdisc_parameters, t->spec->qdisc->names, name, value);
}

/* The five that all PI controllers have, and the largest p' among them; returns the update interval. */
static double put_controller(pi2_choices *c, pi2_test_link *t, double largest_gain)
{
    const double alpha = fmin(largest_gain, gain_of(c, t)), interval = interval_of(c, t);
    put(t, "alpha", alpha);
    put(t, "beta", fmin(largest_gain, alpha * pi2_spread(c, 1, 50)));
    put(t, "target", time_of(c, t));
    put(t, "update_interval", interval);
    t->largest = pi2_chance(c, 0.6) ? 1.0 : pi2_uniform(c, 0.01, 1.0);
    put(t, "limit", t->largest);
    return interval;
}

static void make_pi(pi2_choices *c, pi2_test_link *t)
{
    static const char *const names[] = {"pi", "pi2", "pi2", "coupled"};
    static const double ks[] = {1, 2, 4, 255};
    const int arithmetic = pi2_pick(c, 3);
    double interval, k;
    begin(t, names[pi2_pick(c, 4)]);
    interval = put_controller(c, t, 1e5);
    k = pi2_chance(c, 0.7) || arithmetic == 2 ? from(c, 4, ks) : pi2_spread(c, 0.1, 20);
    t->largest = arithmetic == 2 ? 1.0 / k : t->largest;
    put(t, "k", k);
    put(t, "first_update", pi2_chance(c, 0.8) ? interval : time_or_none(c, t));
    put(t, "arithmetic", arithmetic);
    put(t, "quirks", bit(c));
    put(t, "delay_from", pi2_pick(c, 3));
    put(t, "per_packet", time_of(c, t));
    put(t, "decay", pi2_chance(c, 0.5) ? 0.98 : 1.0);
    put(t, "ecn", bit(c));
    put(t, "at_dequeue", bit(c));
}

static double table_of(pi2_choices *c, int arithmetic)
{
    static const double shifts[] = {0, 3, 4, 1}; /* 32 bits have the first three of those of 56 */
    return arithmetic == 0 ? pi2_pick(c, 6) : from(c, arithmetic == 1 ? 4 : 3, shifts);
}

static void put_pie(pi2_choices *c, pi2_test_link *t)
{
    static const double bytes[] = {16384, 10000}, weights[] = {0.5, 0.125}, limits[] = {0.1, 0.1, 1.0};
    const int arithmetic = pi2_pick(c, 3), by_update = arithmetic == 0 && pi2_pick(c, 2), quirks = pi2_pick(c, 2);
    const double burst = time_or_none(c, t);
    const double interval = put_controller(c, t, arithmetic ? 2.0 : 1e5);
    t->largest = arithmetic && quirks ? INFINITY : 1.0;
    put(t, "table", table_of(c, arithmetic));
    put(t, "cap", bit(c));
    put(t, "boost", bit(c));
    put(t, "decay", pi2_chance(c, 0.6) ? 63.0 / 64 : 1.0);
    put(t, "burst", by_update ? burst : -1.0);
    put(t, "first_update", pi2_chance(c, 0.8) ? interval : time_or_none(c, t));
    put(t, "arithmetic", arithmetic);
    put(t, "quirks", quirks);
    put(t, "allowance", burst);
    put(t, "burst_by_update", by_update);
    put(t, "strict_idle", bit(c));
    put(t, "half_target", pi2_pick(c, 3));
    put(t, "derandomize", bit(c));
    put(t, "rate_estimator", bit(c));
    put(t, "rate_threshold", from(c, 2, bytes));
    put(t, "rate_weight", from(c, 2, weights));
    put(t, "ecn", bit(c));
    put(t, "mark_limit", from(c, 3, limits));
    put(t, "at_dequeue", bit(c));
    put(t, "bytemode", bit(c));
}

static void make_pie(pi2_choices *c, pi2_test_link *t)
{
    begin(t, "pie");
    put_pie(c, t);
}

static void make_dualpi2(pi2_choices *c, pi2_test_link *t)
{
    static const double ks[] = {1, 2, 3, 255};
    const int fixed = pi2_pick(c, 2);
    const double step = time_of(c, t);
    double interval;
    begin(t, "dualpi2");
    interval = put_controller(c, t, 1e5);
    t->largest = 1.0;
    put(t, "k", pi2_chance(c, 0.7) || fixed ? from(c, 4, ks) : pi2_spread(c, 0.1, 20));
    put(t, "step", step);
    put(t, "ramp", pi2_chance(c, 0.6) ? 0.0 : step * pi2_uniform(c, 0, 2));
    put(t, "c_protection", pi2_pick(c, 101) / 100.0);
    put(t, "classic_drives", bit(c));
    put(t, "drop_overload", bit(c));
    put(t, "at_enqueue", bit(c));
    put(t, "min_step_packets", pi2_pick(c, 4));
    put(t, "fixed", fixed);
    put(t, "quirks", bit(c));
    put(t, "first_update", pi2_chance(c, 0.8) ? interval : time_of(c, t));
}

static void make_red(pi2_choices *c, pi2_test_link *t)
{
    const int fixed = pi2_pick(c, 2);
    const double low = pi2_chance(c, 0.8) ? pi2_uniform(c, 0.1, 10) : pi2_spread(c, 1, 1e3);
    const double ecn = bit(c), mark_low = fixed || ecn == 0.0 || pi2_chance(c, 0.5) ? 0.0 : pi2_uniform(c, 0.1, 10);
    begin(t, "red");
    t->largest = 1.0;
    put(t, "min", low);
    put(t, "max", pi2_chance(c, 0.2) ? low : low * pi2_uniform(c, 1.1, 5) + 1.0);
    put(t, "max_p", pi2_chance(c, 0.1) ? 1.0 : pi2_spread(c, 1e-3, 1.0));
    put(t, "weight", fixed ? ldexp(1.0, -pi2_pick(c, pi2_chance(c, 0.8) ? 10 : 32)) : pi2_spread(c, 1e-4, 1.0));
    put(t, "gentle", fixed ? 0.0 : bit(c));
    put(t, "adaptive", bit(c));
    put(t, "update_interval", pi2_chance(c, 0.9) ? interval_of(c, t) : INFINITY);
    put(t, "ecn", ecn);
    put(t, "harddrop", bit(c));
    put(t, "nodrop", ecn != 0.0 ? bit(c) : 0.0);
    put(t, "packets", fixed ? 0.0 : bit(c));
    put(t, "mark_min", mark_low);
    put(t, "mark_max", mark_low * (pi2_chance(c, 0.2) ? 1.0 : pi2_uniform(c, 1, 5)));
    put(t, "mark_max_p", pi2_spread(c, 1e-3, 1.0));
    put(t, "fixed", fixed);
    put(t, "idle_decay", bit(c));
    put(t, "spacing", fixed ? 0.0 : pi2_pick(c, 3));
}

static void put_codel(pi2_choices *c, pi2_test_link *t)
{
    const double target = time_of(c, t);
    put(t, "target", target);
    put(t, "interval", fmin(fmax(1e-5, target * pi2_spread(c, 0.5, 50)), 999.0));
    put(t, "ecn", bit(c));
    put(t, "fixed", bit(c));
    put(t, "ce_threshold", pi2_chance(c, 0.5) ? INFINITY : time_or_none(c, t));
    put(t, "ect1_alone", bit(c));
    t->largest = INFINITY;
    t->unlikely = 1;
}

static void make_codel(pi2_choices *c, pi2_test_link *t)
{
    begin(t, "codel");
    put_codel(c, t);
}

/* Few queues, so that flows collide. */
static void put_flow_queues(pi2_choices *c, pi2_test_link *t)
{
    put(t, "flows", pi2_chance(c, 0.9) ? 1 + pi2_pick(c, 8) : 65536);
    put(t, "quantum", pi2_chance(c, 0.9) ? pi2_spread(c, 64, 6000) : 1 << 20);
    put(t, "memory_limit", pi2_chance(c, 0.5) ? INFINITY : pi2_spread(c, 1, 1e5));
    put(t, "drop_batch", pi2_chance(c, 0.2) ? 0 : 1 + pi2_pick(c, 64));
}

static void make_fq_codel(pi2_choices *c, pi2_test_link *t)
{
    begin(t, "fq_codel");
    put_flow_queues(c, t);
    put_codel(c, t);
}

static void make_fq_pie(pi2_choices *c, pi2_test_link *t)
{
    begin(t, "fq_pie");
    put_flow_queues(c, t);
    put_pie(c, t);
    t->largest = INFINITY;
    t->unlikely = 1;
}

static void make_rem(pi2_choices *c, pi2_test_link *t)
{
    begin(t, "rem");
    t->largest = INFINITY;
    put(t, "gamma", pi2_spread(c, 1e-4, 10));
    put(t, "phi", 1.0 + pi2_spread(c, 1e-4, 10));
    put(t, "alpha", pi2_spread(c, 1e-2, 10));
    put(t, "target", pi2_spread(c, 0.1, 100));
    put(t, "weight", pi2_chance(c, 0.5) ? 1.0 : pi2_spread(c, 1e-3, 1.0));
    put(t, "update_interval", interval_of(c, t));
    put(t, "packet", pi2_spread(c, 10, 1e4));
    put(t, "bytes", bit(c));
    put(t, "ecn", bit(c));
    put(t, "ns3", bit(c));
}

static void make_avq(pi2_choices *c, pi2_test_link *t)
{
    begin(t, "avq");
    t->largest = 1.0;
    t->unlikely = 1;
    put(t, "utilization", pi2_chance(c, 0.2) ? 1.0 : pi2_uniform(c, 0.1, 1));
    put(t, "alpha", pi2_spread(c, 1e-2, 1e3));
    put(t, "start", pi2_chance(c, 0.2) ? 1.0 : pi2_uniform(c, 0.1, 1));
    put(t, "buffer", pi2_spread(c, 0.5, 1e3));
    put(t, "overflow", bit(c));
    put(t, "bytes", bit(c));
    put(t, "ecn", bit(c));
}

static void make_lottery(pi2_choices *c, pi2_test_link *t)
{
    begin(t, "lottery");
    t->largest = pi2_chance(c, 0.8) ? pi2_spread(c, 1e-3, 0.5) : bit(c);
    put(t, "p", t->largest);
    put(t, "mark", bit(c));
}

static void make_price(pi2_choices *c, pi2_test_link *t)
{
    begin(t, "price");
    t->largest = INFINITY;
    put(t, "phi", pi2_chance(c, 0.5) ? 100.0 : 1.0 + pi2_spread(c, 1e-3, 1e6));
    put(t, "utilization", pi2_chance(c, 0.5) ? 0.95 : pi2_uniform(c, 0.01, 1.0));
    put(t, "update_interval", interval_of(c, t));
}

void pi2_make_discipline(pi2_choices *c, pi2_test_link *t)
{
    static void (*const makers[])(pi2_choices *, pi2_test_link *) = {
        make_pi, make_pi, make_pie, make_pie, make_dualpi2, make_dualpi2, make_red, make_codel, make_lottery,
        make_price, make_rem, make_avq, make_fq_codel, make_fq_pie};
    const int which = pi2_pick(c, 15);
    if (which < 14)
        makers[which](c, t);
    else
        begin(t, "taildrop");
}
