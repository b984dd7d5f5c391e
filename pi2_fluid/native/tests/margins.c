/* Checks the margin kernel without Python: known answers, then random points against a slow twin.
 *
 * The twin knows only L(jv), in long double: it bisects |L| = 1 and phase = -180 degrees. Meant to be built with
 * -DPI2_SANITIZE=ON. Prints the count and the worst errors; the exit status is 1 when one is too large.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "margins/closed/ack_margins.h"
#include "margins/aliases/ack_plant.h"
#include "margins/aliases/alias_sums.h"
#include "margins/search/ack_loop.h"
#include "margins/search/crossings.h"
#include "margins/search/linear_loop.h"
#include "margins/vector/block.h"
#include "margins/closed/margins.h"
#include "margins/vector/processor.h"
#include "margins/closed/sampled_margins.h"
#include "tests/chance.h"

typedef long double real;

static const real PI = 3.14159265358979323846264338327950288L;

typedef struct { int scalable; double m, mu, a, c, rtt; } loop_t;
typedef struct { double gm_db, pm_deg, w_gc, w_pc; } margins_t;

static real gain(const loop_t *p, real v)
{
    const real re = p->mu * (p->scalable ? cosl(v) : 1 + cosl(v)), im = v - p->mu * sinl(v);
    return p->m * hypotl(p->a, p->c * v) / (v * hypotl(1, v) * hypotl(re, im));
}

/* phase + 180 degrees, continuous, 90 degrees (mu > 0) or 0 (mu = 0) as v -> 0; small angles stay exact */
static real above(const loop_t *p, real v)
{
    const real re = p->mu * (p->scalable ? cosl(v) : 1 + cosl(v)), im = v - p->mu * sinl(v);
    return (atan2l(p->c * v, p->a) - atanl(v)) - (v - atan2l(re, im));
}

/* ln v where `f` falls through `level` */
static real falls(const loop_t *p, real (*f)(const loop_t *, real), real level, real low, real high)
{
    for (int i = 0; i < 120; i++) {
        const real mid = (low + high) / 2;
        if (f(p, expl(mid)) > level)
            low = mid;
        else
            high = mid;
    }
    return expl((low + high) / 2);
}

static margins_t twin(const loop_t *p)
{
    const real v = falls(p, gain, 1, -480, 240), end = logl(p->scalable ? PI / 2 : PI);
    margins_t r;
    r.w_gc = (double)(v / p->rtt);
    r.pm_deg = (double)(above(p, v) * 180 / PI);
    if (p->mu == 0 && p->c <= 2 * p->a) {
        r.gm_db = -INFINITY;
        r.w_pc = 0;
        return r;
    }
    const real w = falls(p, above, 0, -480, end);
    r.gm_db = (double)(-20 * log10l(gain(p, w)));
    r.w_pc = (double)(w / p->rtt);
    return r;
}

/* 0 ordinary loops, 1 wide, 2 the whole domain, 3 nearly flat |L|, 4 mu = 0 */
static loop_t draw(int kind, int scalable)
{
    const double most = scalable ? PI2_MU_SCALABLE : PI2_MU_RENO;
    loop_t p = {scalable, scalable ? 0.5 : sqrt(2), most * spread(1e-3, 1), 0, 0, spread(0.005, 0.2)};
    const double alpha = spread(0.01, 1), beta = alpha * uniform(5, 20);
    p.a = alpha * p.rtt * p.rtt / 0.032;
    p.c = (beta + alpha / 2) * p.rtt;
    if (kind == 1 || kind == 2) {
        const double x = kind == 1 ? 1e3 : 1e90;
        p.m = spread(1 / x, x);
        p.a = spread(1 / x, x);
        p.c = kind == 1 ? spread(1 / x, x) : p.a * spread(1e-9, 1e9);
        p.mu = uniform(0, 1) < 0.5 ? uniform(0, most) : spread(most / x, most);
    }
    if (kind == 3) {
        p.mu = uniform(0, most);
        p.c = spread(1e-3, 1e3);
        p.a = p.c * spread(1e-6, 1e2);
        p.m = (scalable ? 1 : 2) * p.mu / p.c * uniform(0.9, 1.1);
    }
    if (kind == 4)
        p.mu = 0;
    return p;
}

/* the rectangle a/(a + c), mu over which the phase iteration must converge */
static loop_t scan(int i, int count, int scalable)
{
    const double most = scalable ? PI2_MU_SCALABLE : PI2_MU_RENO;
    const int side = (int)sqrt((double)count), row = i / side % side, column = i % side;
    loop_t p = {scalable, 1.0, most * column / (side - 1), (row + 0.5) / side, 1 - (row + 0.5) / side, 1.0};
    return p;
}

typedef struct { double gm_db, pm_deg, w_gc, w_pc; } worst_t;

static double larger(double worst, double error)
{
    return error <= worst ? worst : error; /* NaN stays */
}

static double relative(double x, double y)
{
    return x == y ? 0 : fabs(x / y - 1);
}

static void compare(worst_t *w, const loop_t *p, margins_t got, margins_t want)
{
    const double step = 1e-4 * want.w_gc * p->rtt;
    const double slope = fabs(log((double)(gain(p, want.w_gc * p->rtt + step) / gain(p, want.w_gc * p->rtt - step))) / 2e-4);
    const double easy = slope < 1 ? slope : 1; /* where |L| is flat the crossover is as uncertain as 1/slope */
    w->gm_db = larger(w->gm_db, got.gm_db == want.gm_db ? 0 : fabs(got.gm_db - want.gm_db));
    w->pm_deg = larger(w->pm_deg, fabs(got.pm_deg - want.pm_deg) * easy / fmax(1, fabs(want.pm_deg) / 1000));
    w->w_gc = larger(w->w_gc, relative(got.w_gc, want.w_gc) * easy);
    w->w_pc = larger(w->w_pc, relative(got.w_pc, want.w_pc));
}

static int report(int simd, const char *name, int n, worst_t w)
{
    const int bad = !(w.gm_db <= 1e-9 && w.pm_deg <= 1e-9 && w.w_gc <= 1e-12 && w.w_pc <= 1e-12);
    printf("%-9s %-25s %6d points, worst %.1e dB, %.1e deg, w_gc %.1e, w_pc %.1e%s\n", pi2_simd_name(simd), name, n, w.gm_db,
        w.pm_deg, w.w_gc, w.w_pc, bad ? "  TOO LARGE" : "");
    return bad;
}

enum { MOST = 4096 };

static margins_t got[MOST];

/* the kernel on n points of one plant; returns what pi2_margins returns */
static size_t run(int simd, const loop_t *p, size_t n)
{
    double *x = malloc((9 * n + 1) * sizeof *x); /* exact sizes, so that a sanitizer sees a stray access */
    if (!x)
        abort();
    for (size_t i = 0; i < n; i++) {
        const double in[5] = {p[i].m, p[i].mu, p[i].a, p[i].c, p[i].rtt};
        for (size_t j = 0; j < 5; j++)
            x[j * n + i] = in[j];
    }
    const pi2_margins_input in = {x, x + n, x + 2 * n, x + 3 * n, x + 4 * n};
    const pi2_margins_output out = {x + 5 * n, x + 6 * n, x + 7 * n, x + 8 * n};
    const size_t done = pi2_margins(simd, p->scalable, n, in, out);
    for (size_t i = 0; i < n; i++)
        got[i] = (margins_t){out.gm_db[i], out.pm_deg[i], out.w_gc[i], out.w_pc[i]};
    free(x);
    return done;
}

/* rows of Figures 4 and 7 of the PI2 paper (p = 1e-6, R = 100 ms, T = 32 ms), computed with mpmath */
static int known(int simd)
{
    static const struct { double alpha, beta; margins_t want; } rows[] = {
        {0.125, 1.25, {-43.9840424231544, -546.446265953209, 96.1001296799453, 5.73659092371251}},
        {0.000244140625, 0.00244140625, {10.2013567963622, 11.9605881970871, 2.64178714898551, 5.73659092371251}},
    };
    const int n = sizeof rows / sizeof *rows;
    worst_t w = {0, 0, 0, 0};
    for (int i = 0; i < n; i++) {
        const double rtt = 0.1, T = 0.032, p_prime = 1e-3;
        const loop_t p = {0, sqrt(2) / (2 * p_prime), p_prime / sqrt(2), rows[i].alpha * rtt * rtt / T,
            (rows[i].beta + rows[i].alpha / 2) * rtt, rtt};
        run(simd, &p, 1);
        compare(&w, &p, got[0], rows[i].want);
    }
    return report(simd, "figures 4 and 7", n, w);
}

static int random_points(int simd, int kind, int scalable, const char *name, int n)
{
    static loop_t p[MOST];
    worst_t w = {0, 0, 0, 0};
    for (int i = 0; i < n; i++)
        p[i] = kind < 0 ? scan(i, n, scalable) : draw(kind, scalable);
    if (run(simd, p, (size_t)n) != (size_t)n) {
        printf("%s: a point was refused\n", name);
        return 1;
    }
    for (int i = 0; i < n; i++)
        compare(&w, &p[i], got[i], twin(&p[i]));
    return report(simd, name, n, w);
}

/* every answer the same bit for bit whatever the length and the neighbours; a bad point is named */
static int order(int simd, int scalable)
{
    static loop_t p[200];
    static margins_t all[200];
    int bad = 0;
    for (int i = 0; i < 200; i++)
        p[i] = draw(i % 5, scalable);
    run(simd, p, 200);
    memcpy(all, got, sizeof all);
    const size_t lengths[] = {0, 1, 2, 63, 64, 65, 127, 128, 129};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        bad |= run(simd, p + 7, lengths[k]) != lengths[k];
        bad |= memcmp(got, all + 7, lengths[k] * sizeof *got) != 0;
    }
    p[140].mu = NAN;
    p[33].m = -1;
    bad |= run(simd, p, 200) != 33;
    if (bad)
        printf("%s: an answer depends on its neighbours, or a bad point passed\n", pi2_simd_name(simd));
    return bad;
}

/* dx/dt = a0 x + (a1 x + b u + e1 d) e + e0 d, rate = c x + r d */
static pi2_linear_class one_state(double a0, double a1, double b, double e0, double e1, double c, double r, double weight,
                                  double rtt)
{
    return (pi2_linear_class){.states = 1, .own = {-a0, -a1, 1.0}, .signal = {c * b}, .delay = {c * e0, c * e1}, .r = r,
                              .weight = weight, .rtt = rtt, .rates = fabs(a0) + fabs(a1), .heard = fabs(b),
                              .shown = fabs(c), .felt = fabs(e0) + fabs(e1)};
}

/* of every instruction set, which must agree; one class and two, without echoes */
static int linear_sums(size_t classes, const pi2_linear_class *cls, size_t count, size_t n, const double *s, double *sums)
{
    double *const other = malloc(2 * n * sizeof *other);
    int done = other != NULL;
    for (int simd = 0; done && pi2_simd_name(simd); simd++) {
        pi2_linear_sums *const of = pi2_linear_sums_make(simd, classes, cls, 0, NULL, 0.032, count);
        done = of && pi2_linear_sums_at(of, n, s, simd ? other : sums);
        pi2_linear_sums_free(of);
        for (size_t i = 0; done && simd && i < 2 * n; i++)
            done = fabs(other[i] - sums[i]) <= 1e-13 * (1e-3 + fabs(sums[i]));
    }
    free(other);
    return done;
}

/* the default number of aliases against thirty times as many, of exact sizes; every lane of every line is touched */
static int alias_sums(void)
{
    const pi2_linear_class cls[] = {
        one_state(-0.7, -0.7, -300, -0.1, 0.1, 1, -10, 0.05, 0.1),
        one_state(0, -0.5, -80, 0, 0, 1, -25, 0.02, 0.04),
    };
    const pi2_design_loop loop[] = {{0.1, 0.07, 1, 0, 0, 0.36}, {0.1, 0.05, 0, 1, 0, 1.0 / 3}, {0.02, 0.1, 1, 0, 0.3, 0.37}};
    enum { N = 5, LOOPS = 3 };
    double *s = malloc(2 * N * sizeof *s), *w = malloc(N * sizeof *w), sums[2][2 * N * LOOPS];
    if (!s || !w)
        abort();
    for (int i = 0; i < N; i++) {
        w[i] = 90.0 * (i + 1) / N;
        s[2 * i] = 0.1 * i;
        s[2 * i + 1] = w[i];
    }
    double apart = 0.0;
    for (int both = 0; both < 2; both++) {
        for (int k = 0; k < 2; k++) {
            const size_t count = k ? 3000 : 100;
            const int done = both ? pi2_design_alias_sums(LOOPS, loop, 0.032, count, N, 0, w, sums[k])
                                  : linear_sums(2, cls, count, N, s, sums[k]);
            if (!done)
                abort();
        }
        for (int i = 0; i < 2 * N * (both ? LOOPS : 1); i++)
            apart = fmax(apart, fabs(sums[0][i] - sums[1][i]) / (1e-3 + fabs(sums[1][i])));
    }
    free(s);
    free(w);
    /* without echoes, what lies beyond 100 aliases falls like their square */
    printf("alias sums: %.1e apart\n", apart);
    return !(apart < 1e-6);
}

/* margins of random loops, one class or two, of every update: each is where a crossing is, and none of a stable loop is
 * negative */
static int searches(void)
{
    double worst = 0.0;
    int wrong = 0;
    pi2_searching room = {0};
    for (int k = 0; k < 60; k++) {
        const double rtt = 0.02 + 0.18 * uniform(0, 1), mu = 0.5 * uniform(0, 1), T = 0.005 + 0.05 * uniform(0, 1), own = -mu / rtt;
        const double gain = 0.05 + uniform(0, 1);
        const size_t classes = 1 + k % 2;
        pi2_linear_class cls[2];
        for (size_t c = 0; c < classes; c++)
            cls[c] = one_state(own, own, -10.0 * gain / (double)classes, 0, 0, 1, -1.0 / rtt, 1.0 / (double)classes,
                               rtt * (1.0 + 0.5 * (double)c));
        pi2_linear_loop by_rates = {.controller = {.update = (pi2_update)(k % 3), .degree = 1, .interval = T},
                                    .classes = classes, .cls = cls, .integrators = 1, .settles = 1,
                                    .slow = fmin(1.0 / cls[classes - 1].rtt, 2.0 * mu / rtt)};
        pi2_controller *const controller = &by_rates.controller;
        pi2_linear_sums *const sums = pi2_linear_sums_make(0, classes, cls, 0, NULL, T, 40);
        pi2_linear_sums *const rough = pi2_linear_sums_make(0, classes, cls, 0, NULL, T, pi2_rough_aliases(40));
        by_rates.sums = sums;
        by_rates.rough = k % 4 ? rough : NULL;
        const double alpha = 0.02, beta = 0.2;
        const int sampled = controller->update == PI2_SAMPLED;
        controller->unit = sampled ? 1.0 : T / 2.0;
        controller->top[0] = alpha;
        controller->top[1] = sampled ? beta : alpha + 2.0 * beta;
        controller->bottom[1] = sampled ? 1.0 : 2.0;
        if (!sums || !rough)
            abort();
        const pi2_loop loop = pi2_loop_of_rates(&by_rates);
        pi2_loop_margins found;
        double distance;
        int count;
        if (pi2_find_margins(&loop, &room, &found) != PI2_DONE
            || pi2_find_nearest(&loop, &room, &distance) != PI2_DONE
            || pi2_count_unstable(&loop, &room, &count) != PI2_DONE)
            abort();
        const pi2_curve L = loop.response;
        double at[2];
        if (isfinite(found.w_gc) && L.at(L.of, 1, &found.w_gc, at)) {
            worst = fmax(worst, fabs(hypot(at[0], at[1]) - 1.0));
            wrong |= distance > fabs(hypot(1.0 + at[0], at[1])) + 1e-12;
        }
        if (isfinite(found.w_pc) && L.at(L.of, 1, &found.w_pc, at))
            worst = fmax(worst, fabs(hypot(at[0], at[1]) * pow(10.0, found.gm_db / 20.0) - 1.0));
        wrong |= count == 0 && (found.gm_db < 0.0 || found.pm_deg < 0.0);
        wrong |= count > 0 && found.gm_db > 0.0 && found.pm_deg > 0.0;
        pi2_linear_sums_free(sums);
        pi2_linear_sums_free(rough);
    }
    pi2_searching_free(&room);
    printf("searched margins: worst %.1e%s\n", worst, wrong ? ", and signs that are not those of stability" : "");
    return wrong || !(worst < 1e-11);
}

/* the same by the clock of acknowledgements: one class, two of one path, two of several, and one that is served first */
static int ack_searches(void)
{
    double worst = 0.0;
    int wrong = 0;
    pi2_searching room = {0};
    double weights[4 * PI2_ACK_PAIRS];
    pi2_ack_weigh(PI2_ACK_PAIRS, weights);
    for (int k = 0; k < 60; k++) {
        const double path = 0.02 + 0.1 * uniform(0, 1), target = 0.015, T = 0.005 + 0.04 * uniform(0, 1);
        const int kind = k / 3 % 4, ahead = kind == 3, reno = k % 5 != 0;
        const size_t classes = kind ? 2 : 1;
        pi2_ack_class cls[2];
        pi2_ack_size size[2];
        for (size_t c = 0; c < classes; c++) {
            const int waits = !(ahead && c), reduces = reno && !c;
            const double base = path * (kind > 1 && c ? 0.6 : 1.0), rtt = base + (waits ? target : 0.0);
            const double window = 20.0 + 40.0 * uniform(0, 1), cut = 100.0 * (0.2 + uniform(0, 1)) / rtt;
            cls[c] = (pi2_ack_class){.own = {{1.0 / rtt, window}, {1.0 / rtt}}, .signal = {{0}, {-cut}}, .base_rtt = base,
                                     .rtt = rtt, .heard = base, .share = classes > 1 ? 0.5 : 1.0, .waits = waits,
                                     .reduces = reduces};
            size[c] = (pi2_ack_size){.rates = 2.0 / (rtt * window), .cut = cut};
        }
        if (ahead)
            cls[0].share = 1.0;
        const double alpha = spread(0.01, 0.5), beta = alpha * spread(2, 20);
        const pi2_update update = (pi2_update)(k % 3);
        const int sampled = update == PI2_SAMPLED;
        const pi2_ack_parts parts = {
            .classes = classes, .cls = cls, .size = size, .queue = {target, 0.2 * (k % 2), ahead || k % 7 != 0},
            .controller = {update, 1, {alpha, sampled ? beta : alpha + 2.0 * beta}, {0.0, sampled ? 1.0 : 2.0},
                           sampled ? 1.0 : T / 2.0, T},
            .slow = 0.01, .settles = k % 11 != 0, .pairs = PI2_ACK_PAIRS, .weights = weights};
        pi2_ack_loop *const made = pi2_ack_loop_make(&parts);
        if (!made)
            abort();
        const pi2_loop loop = pi2_loop_of_acks(made);
        wrong |= loop.integrators != 1 || isfinite(loop.reach) != (kind > 1);
        pi2_loop_margins found;
        double distance;
        int count;
        if (pi2_find_margins(&loop, &room, &found) != PI2_DONE || pi2_find_nearest(&loop, &room, &distance) != PI2_DONE
            || pi2_count_unstable(&loop, &room, &count) != PI2_DONE)
            abort();
        double at[2];
        if (isfinite(found.w_gc) && loop.response.at(loop.response.of, 1, &found.w_gc, at)) {
            worst = fmax(worst, fabs(hypot(at[0], at[1]) - 1.0));
            wrong |= distance > fabs(hypot(1.0 + at[0], at[1])) + 1e-12;
        }
        if (isfinite(found.w_pc) && loop.response.at(loop.response.of, 1, &found.w_pc, at))
            worst = fmax(worst, fabs(hypot(at[0], at[1]) * pow(10.0, found.gm_db / 20.0) - 1.0));
        wrong |= count == 0 && (found.gm_db < 0.0 || found.pm_deg < 0.0);
        wrong |= count > 0 && found.gm_db > 0.0 && found.pm_deg > 0.0;
        double w_gc = found.w_gc * 1.01, w_pc = found.w_pc * 0.99, gm, pm;
        if (pi2_find_near(&loop, &w_gc, &w_pc, &gm, &pm) != PI2_DONE)
            abort();
        wrong |= fabs(gm - found.gm_db) > 1e-6 || fabs(remainder(pm - found.pm_deg, 360.0)) > 1e-6;
        pi2_ack_loop_free(made);
    }
    pi2_searching_free(&room);
    printf("searched margins by the ack clock: worst %.1e%s\n", worst, wrong ? ", or signs that are not those of stability" : "");
    return wrong || !(worst < 1e-11);
}

/* sums with weights 1 and no mean, which are those of the plant at each alias, of fewer than a line and of more */
static int ack_sums(void)
{
    const pi2_ack_class cls[] = {
        {{{2, 28}, {2}}, {{0}, {-280}}, {{0.02}, {0.01}}, 0.08, 0.1, 0.08, 0.6, 0, 1, 1, 0},
        {{{2, 28}, {2}}, {{0}, {-280}}, {{0.02}, {0.01}}, 0.03, 0.05, 0.05, 0.3, 0.0125, 1, 0, 1},
        {{{1, 50}, {0}}, {{0}, {-50}}, {{0}, {0}}, 0.08, 0.08, 0.08, 0.5, 0, 0, 0, 0},
    };
    enum { N = 3, MOST_PAIRS = 20 };
    double s[2 * N] = {0.3, 2, 0, 30, 0, 80}, apart = 0.0;
    for (int pairs = 1; pairs <= MOST_PAIRS; pairs += 19) {
        double *const whole = malloc(2 * pairs * sizeof *whole), *const mean = calloc(2 * pairs, sizeof *mean);
        double sums[2 * N], value[2];
        const pi2_ack_queue queue = {0.02, 0.3, pairs == 1};
        pi2_ack_plant *const plant = pi2_ack_plant_make(3, cls, &queue);
        if (!whole || !mean || !plant)
            abort();
        for (int i = 0; i < 2 * pairs; i++)
            whole[i] = 1.0;
        pi2_ack_sums *const of = pi2_ack_sums_make(plant, 0.032, (size_t)pairs, whole, mean, 1);
        if (!of || !pi2_ack_sums_at(of, N, s, sums))
            abort();
        for (int i = 0; i < N; i++) {
            double re = 0.0, im = 0.0;
            for (int k = -pairs; k < pairs; k++) {
                const double at[2] = {s[2 * i], s[2 * i + 1] + 2.0 * (double)PI * k / 0.032};
                const double size = 0.032 * (at[0] * at[0] + at[1] * at[1]);
                if (!pi2_ack_plant_at(plant, 1, at, value))
                    abort();
                re += (value[0] * at[0] + value[1] * at[1]) / size;
                im += (value[1] * at[0] - value[0] * at[1]) / size;
            }
            apart = fmax(apart, hypot(sums[2 * i] - re, sums[2 * i + 1] - im) / hypot(re, im));
        }
        pi2_ack_sums_free(of);
        pi2_ack_plant_free(plant);
        free(whole);
        free(mean);
    }
    printf("sums by the ack clock: %.1e apart\n", apart);
    return !(apart < 1e-11);
}

/* margins by the ack clock put back into L(jv), in long double: a block and what is left over, of exact sizes */
static int ack_margins(void)
{
    enum { N = 70, COLUMNS = 6 };
    double worst = 0.0;
    for (int reduces = 0; reduces < 2; reduces++) {
        double *in[COLUMNS], *out[4];
        for (int j = 0; j < COLUMNS; j++)
            in[j] = malloc(N * sizeof **in);
        for (int j = 0; j < 4; j++)
            out[j] = malloc(N * sizeof **out);
        for (int i = 0; i < N; i++) {
            const double values[] = {spread(0.1, 3), 1, spread(0.1, 3), spread(1e-3, 0.5), 0, uniform(0.5, 2)};
            for (int j = 0; j < COLUMNS; j++)
                in[j][i] = j == 4 ? in[3][i] : values[j];
        }
        const pi2_ack_input input = {in[0], in[1], in[2], in[3], in[4], in[5]};
        pi2_ack_margins(reduces, N, input, (pi2_ack_output){out[0], out[1], out[2], out[3]});
        int missing = 0;
        for (int i = 0; i < N; i++) {
            missing += isnan(out[0][i]) != 0;
            for (int phase = 0; phase < 2 && !isnan(out[0][i]); phase++) {
                const real v = out[2 + phase][i], re = sinl(v) / v, im = (cosl(v) - 1) / v;
                const real size = hypotl(in[1][i], in[2][i] * v) / v * in[0][i] * (reduces ? hypotl(re, im) : 1)
                    / hypotl(in[3][i] + in[4][i] * re, v + in[4][i] * im);
                const real above = atan2l(in[2][i] * v, in[1][i]) + atan2l(in[3][i] + in[4][i] * re, v + in[4][i] * im)
                    - (in[5][i] + (reduces ? 0.5 : 0)) * v;
                const real db = phase ? -20 * log10l(size) - out[0][i] : 20 * log10l(size);
                const real deg = phase ? above * 180 / PI : above * 180 / PI - out[1][i];
                worst = fmax(worst, (double)fmaxl(fabsl(db), fabsl(deg)));
            }
        }
        const pi2_simd *simd;
        for (int level = 0; (simd = pi2_simd_at(level)); level++) {
            double found[4][PI2_BLOCK];
            uint64_t left[PI2_BLOCK];
            simd->ack[reduces]((pi2_ack_points){in[0], in[1], in[2], in[3], in[4], in[5]},
                               (pi2_results){found[0], found[1], found[2], found[3]}, left);
            int alone = 0;
            for (int i = 0; i < PI2_BLOCK; i++) {
                alone += left[i] != 0;
                for (int j = 0; j < 4 && !left[i]; j++)
                    worst = fmax(worst, fabs(found[j][i] - out[j][i]));
            }
            if (alone > missing + PI2_BLOCK / 10)
                worst = INFINITY;
        }
        if (missing > N / 5)
            worst = INFINITY;
        for (int j = 0; j < COLUMNS; j++)
            free(in[j]);
        for (int j = 0; j < 4; j++)
            free(out[j]);
    }
    printf("margins by the ack clock: worst %.1e\n", worst);
    return !(worst < 1e-11);
}

/* margins of sampled loops put back into L, the sum over some thousands of aliases in long double: eight at once and what is
 * left over, of exact sizes */
static int sampled_margins(void)
{
    enum { N = 21, COLUMNS = 5, PAIRS = 2000 };
    double worst = 0.0;
    for (int kind = 0; kind < 4; kind++) {
        const int scalable = kind & 1, varies = kind >> 1;
        double *in[COLUMNS], *out[4], first[4][N];
        for (int j = 0; j < COLUMNS; j++)
            in[j] = malloc(N * sizeof **in);
        for (int j = 0; j < 4; j++)
            out[j] = malloc(N * sizeof **out);
        for (int i = 0; i < N; i++) {
            const double values[] = {1, uniform(0.01, 0.45), spread(1e-3, 0.2), spread(2, 20), spread(0.01, 2)};
            for (int j = 0; j < COLUMNS; j++)
                in[j][i] = j == 3 ? values[j] / values[4] : values[j];
        }
        in[4][3] = 2.1; /* not proved */
        const pi2_sampled_input input = {in[0], in[1], in[2], in[3], in[4]};
        for (int simd = 0; pi2_simd_name(simd); simd++) {
            pi2_sampled_margins(simd, scalable, varies, N, input, (pi2_sampled_output){out[0], out[1], out[2], out[3]});
            int missing = 0;
            for (int i = 0; i < N; i++)
                missing += isnan(out[0][i]) != 0;
            if (missing > N / 3 || !isnan(out[0][3]))
                worst = INFINITY;
            for (int i = 0; i < N; i++)
                for (int j = 0; j < 4; j++) {
                    if (simd && isnan(out[j][i]) != isnan(first[j][i]))
                        worst = INFINITY;
                    if (simd && !isnan(out[j][i]))
                        worst = fmax(worst, 1e3 * fabs(out[j][i] - first[j][i]));
                    first[j][i] = simd ? first[j][i] : out[j][i];
                }
        }
        for (int i = 0; i < N; i++)
            for (int phase = 0; phase < 2 && !isnan(out[0][i]); phase++) {
                const real v = out[2 + phase][i], mu = in[1][i], tau = v * in[4][i];
                real re = 0, im = 0;
                for (int k = -PAIRS; k <= PAIRS; k++) {
                    const real x = v + 2 * PI * k / in[4][i], er = cosl(x), ei = -sinl(x);
                    real br = mu * (scalable ? er : 1 + er), bi = x + mu * ei, wr = br - x * bi, wi = bi + x * br;
                    wr += varies ? mu * (1 - er) : 0;
                    wi -= varies ? mu * ei : 0;
                    const real dr = -x * wi, di = x * wr, size = dr * dr + di * di;
                    re += (er * dr + ei * di) / size;
                    im += (ei * dr - er * di) / size;
                }
                const real cr = 1 + in[3][i] * (1 - cosl(tau)), ci = in[3][i] * sinl(tau);
                const real lr = in[0][i] * in[2][i] * (cr * re - ci * im), li = in[0][i] * in[2][i] * (cr * im + ci * re);
                const real db = 20 * log10l(hypotl(lr, li)), deg = atan2l(-li, -lr) * 180 / PI;
                const real apart = phase ? fabsl(db + out[0][i]) + fabsl(deg)
                                         : fabsl(db) + fabsl(remainderl(deg - out[1][i], 360));
                worst = fmax(worst, (double)apart);
            }
        for (int j = 0; j < COLUMNS; j++)
            free(in[j]);
        for (int j = 0; j < 4; j++)
            free(out[j]);
    }
    printf("margins of sampled loops: worst %.1e\n", worst);
    return !(worst < 1e-6);
}

/* what is chosen for processors and operating systems of all ages, and that this one is read as the compiler's library reads it */
static int processors(void)
{
    enum { ECX = 1 << 12 | 1 << 27 | 1 << 28, EBX = 1 << 5 | 1 << 16 | 1 << 17 | 1 << 30 };
    const uint32_t all = EBX | 1u << 31;
    static const struct { uint32_t off_ecx, off_ebx; uint64_t xcr0; int vectors; } known[] = {
        {0, 0, 0xe7, PI2_AVX2 | PI2_AVX512},
        {0, 0, 0x07, PI2_AVX2}, /* the operating system knows AVX alone */
        {0, 0, 0x67, PI2_AVX2}, /* ... or keeps half of the registers */
        {0, 0, 0x03, 0},
        {0, 0, 0xe3, 0},
        {1 << 12, 0, 0xe7, 0}, /* no FMA */
        {1 << 27, 0, 0xe7, 0}, /* XCR0 is nothing that may be read */
        {1 << 28, 0, 0xe7, 0},
        {0, 1 << 5, 0xe7, PI2_AVX512},
        {0, 1 << 16, 0xe7, PI2_AVX2}, /* one part of AVX-512 lacks */
        {0, 1 << 17, 0xe7, PI2_AVX2},
        {0, 1 << 30, 0xe7, PI2_AVX2},
        {0, 1u << 31, 0xe7, PI2_AVX2},
    };
    int bad = pi2_vectors_of((pi2_processor){0, 0, 0}) != 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const pi2_processor p = {ECX & ~known[i].off_ecx, all & ~known[i].off_ebx, known[i].xcr0};
        bad |= pi2_vectors_of(p) != known[i].vectors;
    }
#if defined(__x86_64__)
    const int fma = __builtin_cpu_supports("fma") != 0;
    const int wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    bad |= pi2_vectors() != (fma && __builtin_cpu_supports("avx2") ? PI2_AVX2 : 0) + (fma && wide ? PI2_AVX512 : 0);
#endif
    printf("vector instructions: %d%s\n", pi2_vectors(), bad ? ", otherwise than they should be" : "");
    return bad;
}

int main(int argc, char **argv)
{
    static const char *kinds[] = {"ordinary", "wide", "whole domain", "nearly flat |L|", "mu = 0"};
    const int n = argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) <= MOST ? atoi(argv[1]) : 1000;
    int bad = processors();
    for (int simd = 0; pi2_simd_name(simd); simd++) {
        bad |= known(simd);
        for (int scalable = 0; scalable < 2; scalable++) {
            char name[64];
            for (int kind = -1; kind < 5; kind++) {
                snprintf(name, sizeof name, "%s, %s", scalable ? "scalable" : "reno",
                    kind < 0 ? "scan" : kinds[kind]);
                bad |= random_points(simd, kind, scalable, name, n);
            }
            bad |= order(simd, scalable);
        }
    }
    bad |= alias_sums();
    bad |= searches();
    bad |= ack_searches();
    bad |= ack_sums();
    bad |= ack_margins();
    bad |= sampled_margins();
    puts(bad ? "FAILED" : "passed");
    return bad;
}
