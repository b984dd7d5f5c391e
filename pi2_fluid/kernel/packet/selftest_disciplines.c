/* Random parameters of every queue discipline, in the order of the enumeration at the top of its file. Times are
 * drawn around the link's slot; what no kernel could have is left out. */
#include <math.h>
#include <string.h>

#include "selftest_scenario.h"

static double from(pi2_choices *c, int n, const double *values)
{
    return values[pi2_pick(c, n)];
}

static double bit(pi2_choices *c)
{
    return pi2_pick(c, 2);
}

/* s: around some slots, or anything that packets can count. */
static double time_of(pi2_choices *c, const pi2_test_scenario *t)
{
    const double slot = 1e-9 * t->slot;
    const double s = pi2_chance(c, 0.9) ? slot * pi2_spread(c, 0.3, 100) : pi2_spread(c, 1e-9, 1e3);
    return fmin(fmax(s, 1e-9), 999.0);
}

/* s between updates: no more than some hundred in a run. */
static double interval_of(pi2_choices *c, const pi2_test_scenario *t)
{
    const double least = fmax(1e-9, 1e-9 * (double)t->problem.duration / 500);
    return fmin(fmax(time_of(c, t), least), 9e5);
}

static double gain_of(pi2_choices *c, const pi2_test_scenario *t)
{
    /* such that a delay of some slots moves p by some percent, or any other */
    return pi2_chance(c, 0.8) ? fmin(1e5, pi2_spread(c, 1e-4, 1) * 1e9 / t->slot) : pi2_spread(c, 1e-2, 1e5);
}

static void set(pi2_packet_scenario *s, const char *name, const double *values)
{
    s->qdisc = pi2_find_qdisc(name);
    memcpy(s->qdisc_parameters, values, (size_t)s->qdisc->parameters * sizeof *values);
}

static void make_pi(pi2_choices *c, pi2_test_scenario *t)
{
    static const char *const names[] = {"pi", "pi2", "pi2", "coupled"};
    static const double ks[] = {1, 2, 4, 255};
    const double alpha = gain_of(c, t), beta = fmin(1e5, alpha * pi2_spread(c, 1, 50));
    const double interval = interval_of(c, t), first = pi2_chance(c, 0.8) ? interval : bit(c) * time_of(c, t);
    const int arithmetic = pi2_pick(c, 3);
    const double k = pi2_chance(c, 0.7) || arithmetic == 2 ? from(c, 4, ks) : pi2_spread(c, 0.1, 20);
    const double limit = pi2_chance(c, 0.6) ? 1.0 : pi2_uniform(c, 0.01, 1.0);
    const double values[] = {alpha, beta, time_of(c, t), interval, limit, k, first, arithmetic, bit(c),
                             pi2_pick(c, 3), time_of(c, t), pi2_chance(c, 0.5) ? 0.98 : 1.0, bit(c), bit(c)};
    set(&t->problem, names[pi2_pick(c, 4)], values);
    t->largest = arithmetic == 2 ? 1.0 / k : limit;
}

static void make_pie(pi2_choices *c, pi2_test_scenario *t)
{
    static const double shifts[] = {0, 1, 3, 4}, short_shifts[] = {0, 3, 4};
    static const double bytes[] = {16384, 10000}, weights[] = {0.5, 0.125}, limits[] = {0.1, 0.1, 1.0};
    const int arithmetic = pi2_pick(c, 3), by_update = arithmetic == 0 && bit(c) != 0.0, quirks = pi2_pick(c, 2);
    const double table = arithmetic == 0   ? pi2_pick(c, 6)
                         : arithmetic == 1 ? from(c, 4, shifts)
                                           : from(c, 3, short_shifts);
    const double most = arithmetic ? 2.0 : 1e5, alpha = fmin(most, gain_of(c, t));
    const double beta = fmin(most, alpha * pi2_spread(c, 1, 50)), burst = bit(c) * time_of(c, t);
    const double interval = interval_of(c, t), limit = pi2_chance(c, 0.7) ? 1.0 : pi2_uniform(c, 0.01, 1.0);
    const double values[] = {
        alpha, beta, time_of(c, t), interval, limit, table, bit(c), bit(c), pi2_chance(c, 0.6) ? 63.0 / 64 : 1.0,
        by_update ? burst : -1.0, pi2_chance(c, 0.8) ? interval : bit(c) * 0.5, arithmetic, quirks, burst, by_update,
        bit(c), pi2_pick(c, 3), bit(c), bit(c), from(c, 2, bytes), from(c, 2, weights), bit(c), from(c, 3, limits),
        bit(c)};
    set(&t->problem, "pie", values);
    t->largest = arithmetic && quirks ? INFINITY : 1.0;
}

static void make_dualpi2(pi2_choices *c, pi2_test_scenario *t)
{
    static const double ks[] = {1, 2, 3, 255};
    const double alpha = gain_of(c, t), beta = fmin(9e5, alpha * pi2_spread(c, 1, 50)), interval = interval_of(c, t);
    const double fixed = bit(c), k = pi2_chance(c, 0.7) || fixed != 0.0 ? from(c, 4, ks) : pi2_spread(c, 0.1, 20);
    const double step = time_of(c, t), ramp = pi2_chance(c, 0.6) ? 0.0 : step * pi2_uniform(c, 0, 2);
    const double protection = (1.0 + pi2_pick(c, 99)) / 100.0;
    const double values[] = {alpha, beta, time_of(c, t), interval, pi2_uniform(c, 0.01, 1.0), k, step, ramp,
                             protection, bit(c), bit(c), bit(c), pi2_pick(c, 4), fixed, bit(c),
                             pi2_chance(c, 0.8) ? interval : time_of(c, t)};
    set(&t->problem, "dualpi2", values);
    t->largest = 1.0;
}

static void make_red(pi2_choices *c, pi2_test_scenario *t)
{
    const double low = pi2_chance(c, 0.8) ? pi2_uniform(c, 0.1, 10) : pi2_spread(c, 1, 1e3);
    const double high = low * pi2_uniform(c, 1.1, 5) + 1.0;
    const double fixed = bit(c), weight = fixed != 0.0 ? ldexp(1.0, -1 - pi2_pick(c, pi2_chance(c, 0.8) ? 9 : 31))
                                                       : pi2_spread(c, 1e-4, 0.999);
    const double max_p = pi2_chance(c, 0.1) ? 1.0 : pi2_spread(c, 1e-3, 1.0);
    const double values[] = {low, high, max_p, weight, fixed != 0.0 ? 0.0 : bit(c), bit(c),
                             pi2_chance(c, 0.9) ? interval_of(c, t) : INFINITY, bit(c), fixed, bit(c),
                             fixed != 0.0 ? 0.0 : pi2_pick(c, 3)};
    set(&t->problem, "red", values);
    t->largest = 1.0;
}

static void make_codel(pi2_choices *c, pi2_test_scenario *t)
{
    const double target = time_of(c, t);
    const double values[] = {target, fmin(fmax(1e-5, target * pi2_spread(c, 0.5, 50)), 999.0), bit(c), bit(c)};
    set(&t->problem, "codel", values);
    t->largest = INFINITY;
    t->unlikely = 1;
}

void pi2_make_discipline(pi2_choices *c, pi2_test_scenario *t)
{
    const double lottery[] = {pi2_chance(c, 0.8) ? pi2_spread(c, 1e-3, 0.5) : bit(c), bit(c)};
    switch (pi2_pick(c, 8)) {
    case 0:
    case 1:
        make_pi(c, t);
        break;
    case 2:
        make_pie(c, t);
        break;
    case 3:
    case 4:
        make_dualpi2(c, t);
        break;
    case 5:
        make_red(c, t);
        break;
    case 6:
        make_codel(c, t);
        break;
    default:
        set(&t->problem, pi2_chance(c, 0.5) ? "taildrop" : "lottery", lottery);
        t->largest = lottery[0];
    }
}
