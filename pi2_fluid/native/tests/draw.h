/* Queue laws, classes and what they are made of, drawn for self-tests of trajectories. */
#pragma once

#include <math.h>
#include <string.h>

#include "fluid/routes/problem.h"
#include "tests/chance.h"
#include "tests/laws.h"

/* For a link of so many packets/s. */
static inline void draw_aqm(pi2_routes_node *p, double packets)
{
    static const char *const names[] = {"pi", "pi2", "pi2", "pie", "coupled", "dualpi2", "red", "taildrop"};
    const char *name = names[pick(8)];
    const double alpha = uniform(0.05, 0.4) / (strcmp(name, "pie") ? 1 : 2), beta = alpha * uniform(5, 20);
    const double T = uniform(0.01, 0.04), least = packets * uniform(0.005, 0.03);
    const law_number numbers[] = {{"alpha", alpha}, {"beta", beta}, {"target", 0.02}, {"update_interval", T},
                                  {"step", 0.002}, {"min", least}, {"max", 3 * least},
                                  {"weight", spread(1e-3, 1e-2)}, {0}};
    p->continuous = chance(0.5) && strcmp(name, "dualpi2");
    p->aqm = make_queue(name, numbers, p->continuous, &p->parameters, &p->update_interval);
    p->aqm->initial(p->parameters, p->state);
}

/* Gives a class its law and its state; `rate` (packets/s) of one that sends at a constant rate. */
static inline void give_law(pi2_fluid_class *c, const char *name, double rate)
{
    const law_number numbers[] = {{"bitrate", rate * 8 * 1500}, {0}};
    c->law = make_sender(name, numbers, &c->parameters);
    c->x[0] = uniform(1, 10);
    for (int j = 1; j < c->law->states; j++)
        c->x[j] = !strcmp(name, "cubic") ? (j == 1 ? c->x[0] / 0.85 : 0.0) : 1.0;
}

static inline void draw_class(pi2_fluid_class *c, double duration, double packets, int thins)
{
    static const char *const names[] = {"reno", "reno", "scalable", "dctcp", "cubic", "cbr", "timeoutreno", "prague"};
    static const int signals[] = {PI2_FLUID_CLASSIC, PI2_FLUID_CLASSIC, PI2_FLUID_SCALABLE, PI2_FLUID_SCALABLE,
                                  PI2_FLUID_CLASSIC, PI2_FLUID_DEAF, PI2_FLUID_CLASSIC, PI2_FLUID_SCALABLE};
    static const double base_rtts[] = {0.01, 0.03, 0.03, 0.1};
    const int kind = pick(8);
    memset(c, 0, sizeof *c);
    c->signal = signals[kind];
    c->thinned = thins && (kind == 6 || (kind == 5 && chance(0.5)));
    c->base_rtt = base_rtts[pick(4)];
    c->count = packets * c->base_rtt * uniform(0.02, 0.3);
    c->slow_start = kind != 5 && chance(0.5);
    c->start = chance(0.5) ? 0.0 : uniform(0, duration / 2);
    c->stop = chance(0.7) ? INFINITY : c->start + uniform(0.1, duration / 2);
    c->start_jitter = chance(0.8) ? 0.0 : uniform(0.01, 0.5);
    give_law(c, names[kind], packets / c->count * uniform(0.05, 0.9));
}
