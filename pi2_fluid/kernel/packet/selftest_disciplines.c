/* Random parameters of every queue discipline, in the order of the enumeration at the top of its file. Times are
 * drawn around the link's slot; what no kernel could have is left out. One parameter is drawn after the other: in what
 * order a list of values is evaluated is up to the compiler. */
#include <math.h>

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

static double time_or_none(pi2_choices *c, const pi2_test_scenario *t)
{
    return pi2_chance(c, 0.5) ? 0.0 : time_of(c, t);
}

/* s between updates: no more than some hundred in a run. */
static double interval_of(pi2_choices *c, const pi2_test_scenario *t)
{
    const double least = fmax(1e-9, 1e-9 * (double)t->problem.duration / 500);
    return fmin(fmax(time_of(c, t), least), 9e5);
}

/* Hz: such that a delay of some slots moves p by some percent, or any other. */
static double gain_of(pi2_choices *c, const pi2_test_scenario *t)
{
    return pi2_chance(c, 0.8) ? fmin(1e5, pi2_spread(c, 1e-4, 1) * 1e9 / t->slot) : pi2_spread(c, 1e-2, 1e5);
}

static double *begin(pi2_test_scenario *t, const char *name)
{
    t->problem.qdisc = pi2_find_qdisc(name);
    return t->problem.qdisc_parameters;
}

/* The five that all PI controllers begin with; returns the update interval. */
static double add_controller(pi2_choices *c, const pi2_test_scenario *t, double **p, double largest_gain)
{
    const double alpha = fmin(largest_gain, gain_of(c, t)), interval = interval_of(c, t);
    *(*p)++ = alpha;
    *(*p)++ = fmin(largest_gain, alpha * pi2_spread(c, 1, 50));
    *(*p)++ = time_of(c, t);
    *(*p)++ = interval;
    *(*p)++ = pi2_chance(c, 0.6) ? 1.0 : pi2_uniform(c, 0.01, 1.0);
    return interval;
}

static void make_pi(pi2_choices *c, pi2_test_scenario *t)
{
    static const char *const names[] = {"pi", "pi2", "pi2", "coupled"};
    static const double ks[] = {1, 2, 4, 255};
    const int arithmetic = pi2_pick(c, 3);
    double *p = begin(t, names[pi2_pick(c, 4)]), *first = p;
    const double interval = add_controller(c, t, &p, 1e5);
    const double k = pi2_chance(c, 0.7) || arithmetic == 2 ? from(c, 4, ks) : pi2_spread(c, 0.1, 20);
    t->largest = arithmetic == 2 ? 1.0 / k : first[4];
    *p++ = k;
    *p++ = pi2_chance(c, 0.8) ? interval : time_or_none(c, t);
    *p++ = arithmetic;
    *p++ = bit(c);                            /* quirks */
    *p++ = pi2_pick(c, 3);                    /* delay from */
    *p++ = time_of(c, t);                     /* per packet */
    *p++ = pi2_chance(c, 0.5) ? 0.98 : 1.0;   /* decay */
    *p++ = bit(c);                            /* ecn */
    *p++ = bit(c);                            /* at dequeue */
}

static double table_of(pi2_choices *c, int arithmetic)
{
    static const double shifts[] = {0, 3, 4, 1}; /* 32 bits have the first three of those of 56 */
    return arithmetic == 0 ? pi2_pick(c, 6) : from(c, arithmetic == 1 ? 4 : 3, shifts);
}

static void make_pie(pi2_choices *c, pi2_test_scenario *t)
{
    static const double bytes[] = {16384, 10000}, weights[] = {0.5, 0.125}, limits[] = {0.1, 0.1, 1.0};
    const int arithmetic = pi2_pick(c, 3), by_update = arithmetic == 0 && pi2_pick(c, 2), quirks = pi2_pick(c, 2);
    const double burst = time_or_none(c, t);
    double *p = begin(t, "pie");
    const double interval = add_controller(c, t, &p, arithmetic ? 2.0 : 1e5);
    t->largest = arithmetic && quirks ? INFINITY : 1.0;
    *p++ = table_of(c, arithmetic);
    *p++ = bit(c);                                   /* cap */
    *p++ = bit(c);                                   /* boost */
    *p++ = pi2_chance(c, 0.6) ? 63.0 / 64 : 1.0;     /* decay */
    *p++ = by_update ? burst : -1.0;
    *p++ = pi2_chance(c, 0.8) ? interval : time_or_none(c, t);
    *p++ = arithmetic;
    *p++ = quirks;
    *p++ = burst;
    *p++ = by_update;
    *p++ = bit(c);                                   /* strict idle */
    *p++ = pi2_pick(c, 3);                           /* half target */
    *p++ = bit(c);                                   /* derandomize */
    *p++ = bit(c);                                   /* estimator */
    *p++ = from(c, 2, bytes);
    *p++ = from(c, 2, weights);
    *p++ = bit(c);                                   /* ecn */
    *p++ = from(c, 3, limits);
    *p++ = bit(c);                                   /* at dequeue */
}

static void make_dualpi2(pi2_choices *c, pi2_test_scenario *t)
{
    static const double ks[] = {1, 2, 3, 255};
    const int fixed = pi2_pick(c, 2);
    const double step = time_of(c, t);
    double *p = begin(t, "dualpi2");
    const double interval = add_controller(c, t, &p, 1e5);
    t->largest = 1.0;
    *p++ = pi2_chance(c, 0.7) || fixed ? from(c, 4, ks) : pi2_spread(c, 0.1, 20);
    *p++ = step;
    *p++ = pi2_chance(c, 0.6) ? 0.0 : step * pi2_uniform(c, 0, 2); /* ramp */
    *p++ = (1.0 + pi2_pick(c, 99)) / 100.0;          /* protection of C */
    *p++ = bit(c);                                   /* C drives */
    *p++ = bit(c);                                   /* drop at overload */
    *p++ = bit(c);                                   /* at enqueue */
    *p++ = pi2_pick(c, 4);                           /* packets for the step */
    *p++ = fixed;
    *p++ = bit(c);                                   /* quirks */
    *p++ = pi2_chance(c, 0.8) ? interval : time_of(c, t);
}

static void make_red(pi2_choices *c, pi2_test_scenario *t)
{
    const int fixed = pi2_pick(c, 2);
    const double low = pi2_chance(c, 0.8) ? pi2_uniform(c, 0.1, 10) : pi2_spread(c, 1, 1e3);
    double *p = begin(t, "red");
    t->largest = 1.0;
    *p++ = low;
    *p++ = low * pi2_uniform(c, 1.1, 5) + 1.0;
    *p++ = pi2_chance(c, 0.1) ? 1.0 : pi2_spread(c, 1e-3, 1.0);
    *p++ = fixed ? ldexp(1.0, -1 - pi2_pick(c, pi2_chance(c, 0.8) ? 9 : 31)) : pi2_spread(c, 1e-4, 0.999);
    *p++ = fixed ? 0.0 : bit(c);                     /* gentle */
    *p++ = bit(c);                                   /* adaptive */
    *p++ = pi2_chance(c, 0.9) ? interval_of(c, t) : INFINITY;
    *p++ = bit(c);                                   /* ecn */
    *p++ = fixed;
    *p++ = bit(c);                                   /* idle decay */
    *p++ = fixed ? 0.0 : pi2_pick(c, 3);             /* spacing */
}

static void make_codel(pi2_choices *c, pi2_test_scenario *t)
{
    const double target = time_of(c, t);
    double *p = begin(t, "codel");
    t->largest = INFINITY;
    t->unlikely = 1;
    *p++ = target;
    *p++ = fmin(fmax(1e-5, target * pi2_spread(c, 0.5, 50)), 999.0);
    *p++ = bit(c);                                   /* ecn */
    *p++ = bit(c);                                   /* fixed */
}

static void make_lottery(pi2_choices *c, pi2_test_scenario *t)
{
    double *p = begin(t, "lottery");
    t->largest = pi2_chance(c, 0.8) ? pi2_spread(c, 1e-3, 0.5) : bit(c);
    *p++ = t->largest;
    *p++ = bit(c);                                   /* mark */
}

void pi2_make_discipline(pi2_choices *c, pi2_test_scenario *t)
{
    static void (*const makers[])(pi2_choices *, pi2_test_scenario *) = {
        make_pi, make_pi, make_pie, make_pie, make_dualpi2, make_dualpi2, make_red, make_codel, make_lottery};
    const int which = pi2_pick(c, 10);
    if (which < 9)
        makers[which](c, t);
    else
        begin(t, "taildrop");
}
