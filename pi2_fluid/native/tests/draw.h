/* Queue laws, classes and what they are made of, drawn for self-tests of trajectories. */
#pragma once

#include <math.h>
#include <string.h>

#include "fluid/problem.h"
#include "laws/aqms/dualpi2.h"
#include "laws/aqms/pie.h"
#include "laws/aqms/red.h"
#include "tests/chance.h"
#include "tests/put.h"

static inline void set_law(pi2_fluid_problem *p, const void *parameters, size_t size)
{
    p->parameters = memcpy(pi2_room(), parameters, size);
}

/* For a link of so many packets/s. */
static inline void draw_aqm(pi2_fluid_problem *p, double packets)
{
    static const char *const names[] = {"pi", "pi2", "pi2", "pie", "coupled", "dualpi2", "red", "taildrop"};
    const double alpha = uniform(0.05, 0.4), beta = alpha * uniform(5, 20), T = uniform(0.01, 0.04);
    const double limit = chance(0.8) ? 1.0 : 0.5, least = packets * uniform(0.005, 0.03);
    const double ramp = chance(0.5) ? 0.002 : 0.0, adaptive = chance(0.5);
    p->aqm = pi2_find_aqm(names[pick(8)]);
    p->parameters = pi2_room();
    p->update_interval = T;
    p->continuous = chance(0.5);
    if (p->aqm == &pi2_aqm_red) {
        const pi2_red n = {.min = least, .max = 3 * least, .max_p = 0.1, .weight = spread(1e-3, 1e-2),
                           .gentle = chance(0.8), .adaptive = adaptive, .update_interval = 0.5};
        set_law(p, &n, sizeof n);
        p->update_interval = adaptive != 0.0 ? 0.5 : INFINITY;
    } else if (p->aqm == &pi2_aqm_taildrop)
        p->update_interval = INFINITY;
    else if (p->aqm == &pi2_aqm_pie) {
        const pi2_pie n = {.pi = {alpha / 2, beta / 2, .target = 0.02, .update_interval = T, .limit = 1.0},
                           .table = pick(6), .cap = chance(0.5), .boost = chance(0.5),
                           .decay = chance(0.5) ? 0.98 : 1.0, .burst = chance(0.5) ? 0.15 : -1.0};
        set_law(p, &n, sizeof n);
    } else { /* the others have the first of these */
        const pi2_dualpi2 n = {
            .coupled = {.pi = {alpha, beta, 0.02, T, p->aqm == &pi2_aqm_pi2 ? limit : 1.0}, .k = 2.0},
            .step = 0.002, .ramp = ramp, .c_protection = 0.1, .classic_drives = chance(0.5)};
        set_law(p, &n, sizeof n);
    }
    p->continuous &= p->aqm->bands == 1;
    p->aqm->initial(p->parameters, p->state);
}

static inline void draw_class(pi2_fluid_class *c, double duration, double packets, int thins)
{
    static const char *const names[] = {"reno", "reno", "scalable", "dctcp", "cubic", "cbr", "timeoutreno", "prague"};
    static const struct {
        const char *name;
        double value;
    } parameters[][3] = {{{"increase", 1.0}, {"decrease", 0.5}},
                         {{"increase", 0.5}, {"decrease", 0.3}},
                         {{"per_mark", 0.5}},
                         {{"gain", 0.0625}},
                         {{"increase", 8.0 / 15}, {"c", 0.4}, {"decrease", 0.3}},
                         {{0}},
                         {{"increase", 1.0}, {"decrease", 0.5}, {"min_rto", 0.2}},
                         {{"gain", 0.0625}, {"target_rtt", 0.025}}};
    static const int signals[] = {PI2_FLUID_CLASSIC, PI2_FLUID_CLASSIC, PI2_FLUID_SCALABLE, PI2_FLUID_SCALABLE,
                                  PI2_FLUID_CLASSIC, PI2_FLUID_DEAF, PI2_FLUID_CLASSIC, PI2_FLUID_SCALABLE};
    static const double base_rtts[] = {0.01, 0.03, 0.03, 0.1};
    const int kind = pick(8);
    double *numbers = pi2_room();
    memset(c, 0, sizeof *c);
    c->parameters = numbers;
    c->law = pi2_find_sender(names[kind]);
    for (int i = 0; i < 3 && parameters[kind][i].name; i++)
        pi2_put(numbers, c->law->names, parameters[kind][i].name, parameters[kind][i].value);
    c->signal = signals[kind];
    c->thinned = thins && (kind == 6 || (kind == 5 && chance(0.5)));
    c->base_rtt = base_rtts[pick(4)];
    c->count = packets * c->base_rtt * uniform(0.02, 0.3);
    c->slow_start = kind != 5 && chance(0.5);
    c->start = chance(0.5) ? 0.0 : uniform(0, duration / 2);
    c->stop = chance(0.7) ? INFINITY : c->start + uniform(0.1, duration / 2);
    c->start_jitter = chance(0.8) ? 0.0 : uniform(0.01, 0.5);
    if (kind == 5)
        pi2_put(numbers, c->law->names, "rate", packets / c->count * uniform(0.05, 0.9));
    c->law->initial(c->parameters, uniform(1, 10), c->x);
}
