/* Random scenarios: links, classes, routes, changes. Times are drawn in slots of the link, so that whatever its rate, things
 * happen within the some hundred packets that a run lasts. */
#include "tests/packet/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/packet/disciplines.h"
#include "tests/put.h"

/* ns, the ranges of the door */
static const double LONGEST = (double)(INT64_C(1) << 51), LONGEST_SLOT = (double)(INT64_C(1) << 53);

static int64_t whole(double ns, double low, double high)
{
    return (int64_t)(ns < low ? low : ns > high ? high : ns);
}

static void make_service(pi2_choices *c, pi2_test_link *link)
{
    static const double buffers[] = {1, 2, 3, 10, 100, 1000, 1e5, 1e9};
    pi2_packet_link *s = link->spec;
    s->kind = pi2_pick(c, 2);
    s->delay_on = pi2_pick(c, 3);
    s->ack_jitter = pi2_chance(c, 0.4) ? 0 : pi2_chance(c, 0.5) ? 1000 : whole(pi2_spread(c, 1, 0x1p31), 1, 0x1p31);
    s->aggregate = s->kind == PI2_LINK_WIRE && pi2_chance(c, 0.2) ? 1 + (uint32_t)pi2_pick(c, 60) : 1;
    s->aggregate_time = pi2_chance(c, 0.5) ? LONGEST : whole(pi2_spread(c, 0.1, 100) * link->slot, 1, LONGEST);
    if (s->kind == PI2_LINK_WIRE && s->aggregate == 1 && pi2_chance(c, 0.3)) {
        s->ring = 1 + (uint32_t)pi2_pick(c, 300);
        s->bql = pi2_pick(c, 2);
        s->bql_least = pi2_chance(c, 0.5) ? 0 : (int64_t)pi2_spread(c, 1, 1e5);
        s->bql_most = pi2_chance(c, 0.5) ? (int64_t)LONGEST : s->bql_least + (int64_t)pi2_spread(c, 1, 1e5);
    }
    s->buffer = pi2_chance(c, 0.7) ? (int64_t)buffers[pi2_pick(c, 8)] : (int64_t)pi2_spread(c, 1, 300);
}

static void make_first_link(pi2_choices *c, pi2_test_scenario *t)
{
    static const int sizes[] = {64, 74, 590, 1500, 1500, 1500, 9000};
    pi2_packet_scenario *s = &t->problem;
    pi2_test_link *link = t->links;
    double packets = pi2_spread(c, 10, 1500);
    s->packet_size = pi2_chance(c, 0.7)    ? sizes[pi2_pick(c, 7)]
                     : pi2_chance(c, 0.9) ? 64 + pi2_pick(c, 9000 - 63)
                                          : 64 + pi2_pick(c, 65535 - 63);
    link->slot = pi2_chance(c, 0.6) ? pi2_spread(c, 1e4, 1e7) : pi2_chance(c, 0.7) ? pi2_spread(c, 10, 1e5)
              : pi2_chance(c, 0.9) ? pi2_spread(c, 1, 1e13)                    : pi2_spread(c, 1, LONGEST_SLOT);
    link->spec->capacity = 8e9 * s->packet_size / link->slot;
    /* hours are many events, as senders try again every two minutes; who chooses by bytes counts events instead */
    if (!c->bytes && packets * link->slot > 2e13)
        packets = 2e13 / link->slot;
    s->duration = whole(packets * link->slot, 1, LONGEST);
    s->bin = pi2_chance(c, 0.9) ? whole((double)s->duration / pi2_spread(c, 1, 300), 1, LONGEST)
                                : whole((double)s->duration * pi2_spread(c, 1, 10), 1, LONGEST);
    make_service(c, link);
    s->trace = pi2_chance(c, 0.6) ? 30000 : pi2_pick(c, 30);
    s->seed = pi2_choose_bits(c) << 32;
    s->seed |= pi2_choose_bits(c);
}

static void put(pi2_packet_class *class_, const char *name, double value)
{
    pi2_put(class_->parameters, class_->congestion->names, name, value);
}

/* No more than some thousand updates in a run. */
static void make_paganini(pi2_choices *c, const pi2_test_scenario *t, pi2_packet_class *class_)
{
    const double slot = 1e-9 * t->links->slot, least = 1e-9 * (double)t->problem.duration / 2000;
    put(class_, "alpha", pi2_spread(c, 0.05, 3));
    put(class_, "beta", pi2_spread(c, 0.05, 10));
    put(class_, "k", pi2_chance(c, 0.5) ? 50.0 : pi2_spread(c, 1e-3, 1e3) / slot);
    put(class_, "fairness", pi2_chance(c, 0.5) ? 1.0 : pi2_uniform(c, 0.1, 5.0));
    put(class_, "links", 1 + pi2_pick(c, 3));
    put(class_, "phi", pi2_chance(c, 0.5) ? 100.0 : 1.0 + pi2_spread(c, 1e-3, 1e6));
    put(class_, "largest_rate", pi2_chance(c, 0.7) ? 0.0 : pi2_spread(c, 0.01, 10) / slot);
    put(class_, "window", 1 + pi2_pick(c, 128));
    put(class_, "interval", fmin(fmax(slot * pi2_spread(c, 0.3, 100), fmax(1e-9, least)), 999.0));
    put(class_, "max_increment", pi2_chance(c, 0.5) ? 1.0 : pi2_spread(c, 0.01, 10));
    put(class_, "max_decrement", pi2_chance(c, 0.5) ? 1.0 : pi2_spread(c, 0.01, 10));
    put(class_, "by_window", pi2_pick(c, 2));
}

/* Up to three times what the link carries, all its flows together. */
static void make_source(pi2_choices *c, const pi2_test_scenario *t, pi2_packet_class *class_)
{
    const double slot = t->links->slot, size = class_->packet_size;
    const double packets = pi2_chance(c, 0.5) ? 1.0 : pi2_spread(c, 0.02, 60);
    class_->burst = (uint32_t)fmax(1.0, packets * size);
    class_->interval = slot * (1 + class_->count) * pi2_spread(c, 0.3, 30) * fmax(packets, 0.1);
    class_->interval = fmin(fmax(1.0, class_->interval), LONGEST_SLOT);
    if (pi2_chance(c, 0.4))
        class_->spacing = fmin(class_->interval * pi2_spread(c, 1e-3, 3) / class_->burst, LONGEST_SLOT / size);
    class_->poisson = pi2_chance(c, 0.4);
    if (pi2_chance(c, 0.6))
        return;
    class_->sends = fmin(class_->interval * pi2_spread(c, 1e-3, 30), LONGEST_SLOT);
    class_->sends = fmax(class_->sends, fmax(1.0, 1e-3 * class_->interval));
    class_->pause = fmax(1.0, fmin(class_->sends * pi2_spread(c, 0.01, 100), LONGEST_SLOT));
}

static void make_sender(pi2_choices *c, const pi2_test_scenario *t, pi2_packet_class *class_)
{
    static const char *const names[] = {"reno", "cubic", "dctcp", "scalable", "reno", "prague", "paganini"};
    static const double halves[] = {0.5, 0.3, 1.0};
    const int which = pi2_pick(c, 8), fixed = pi2_pick(c, 2);
    if (which == 7) {
        make_source(c, t, class_);
        return;
    }
    class_->congestion = pi2_find_congestion(names[which]);
    if (which == 1) {
        put(class_, "old", pi2_pick(c, 2));
        put(class_, "c", pi2_chance(c, 0.5) ? 0.4 : pi2_spread(c, 1e-3, 1e3));
        put(class_, "decrease", pi2_chance(c, 0.5) ? 0.3 : pi2_uniform(c, 0.01, 1.0));
        put(class_, "hystart", pi2_pick(c, 2));
        put(class_, "friendly", pi2_chance(c, 0.8));
    } else if (which == 2) {
        put(class_, "gain", fixed ? ldexp(1.0, -pi2_pick(c, 11)) : pi2_uniform(c, 1e-3, 1.0));
        put(class_, "fixed", fixed);
        put(class_, "old", fixed && pi2_chance(c, 0.5));
    } else if (which == 3) {
        put(class_, "per_mark", pi2_chance(c, 0.5) ? 0.5 : pi2_spread(c, 0.01, 100));
    } else if (which == 5) {
        put(class_, "gain", pi2_uniform(c, 1e-3, 1.0));
        put(class_, "target_rtt", pi2_chance(c, 0.5) ? 0.025 : pi2_spread(c, 1e-6, 1e3));
        put(class_, "first_alpha", fixed);
        put(class_, "rounds", pi2_pick(c, 10));
    } else if (which == 6) {
        make_paganini(c, t, class_);
    } else {
        put(class_, "per_ack", which == 0 && pi2_chance(c, 0.3));
        put(class_, "decrease", pi2_chance(c, 0.7) ? halves[pi2_pick(c, 3)] : pi2_uniform(c, 0.01, 1.0));
    }
}

static int64_t make_rtt(pi2_choices *c, const pi2_test_scenario *t)
{
    if (pi2_chance(c, 0.15))
        return 0;
    if (pi2_chance(c, 0.85))
        return whole(t->links->slot * pi2_spread(c, 0.2, 100), 0, LONGEST);
    return whole(pi2_chance(c, 0.8) ? pi2_spread(c, 1, 1e9) : pi2_spread(c, 1, LONGEST), 0, LONGEST);
}

/* Transfers of all kinds of sizes, from sources or as they arrive; nearly all of a size that ends within the run. */
static void make_transfers(pi2_choices *c, pi2_test_scenario *t, pi2_packet_class *class_)
{
    double *numbers = t->sizes[class_ - t->classes];
    const double slot = t->links->slot, size = pi2_chance(c, 0.9) ? pi2_spread(c, 0.1, 300) : pi2_spread(c, 1, 1e12);
    class_->sizes = (pi2_sizes){1 + pi2_pick(c, 4), 1, numbers};
    numbers[0] = size;
    if (class_->sizes.kind == PI2_SIZES_PARETO) {
        class_->sizes.count = 3;
        numbers[0] = pi2_spread(c, 0.1, 10);
        numbers[1] = size;
        numbers[2] = pi2_chance(c, 0.5) ? INFINITY : size * pi2_spread(c, 1, 1e3);
    } else if (class_->sizes.kind == PI2_SIZES_EMPIRICAL) {
        class_->sizes.count = 1 + (size_t)pi2_pick(c, PI2_TEST_SIZES);
        for (size_t i = 1; i < class_->sizes.count; i++)
            numbers[i] = pi2_spread(c, 1, 1000);
    }
    if (pi2_chance(c, 0.4))
        class_->gap = slot * pi2_spread(c, 1, 1000);
    else
        class_->idle = pi2_chance(c, 0.2) ? 0.0 : slot * pi2_spread(c, 0.1, 1000);
}

static void make_class(pi2_choices *c, pi2_test_scenario *t, pi2_packet_class *class_)
{
    static const uint32_t windows[] = {10, 10, 10, 1, 2, 4, 100, 1000};
    const double duration = (double)t->problem.duration;
    const int number = (int)(class_ - t->classes);
    memset(class_, 0, sizeof *class_);
    class_->route_length = 1;
    class_->route = t->routes[number];
    class_->hops = t->hops[number];
    class_->count = (uint32_t)(pi2_chance(c, 0.95) ? pi2_pick(c, 8) : pi2_pick(c, 150));
    class_->packet_size = t->problem.packet_size;
    if (pi2_chance(c, 0.3))
        class_->packet_size = 64 + pi2_pick(c, class_->packet_size - 63);
    make_sender(c, t, class_);
    class_->base_rtt = make_rtt(c, t);
    class_->start = pi2_chance(c, 0.6) ? 0 : whole(pi2_uniform(c, 0, duration * 1.1), 0, LONGEST);
    class_->stop = pi2_chance(c, 0.6) ? PI2_NEVER
                                      : class_->start + whole(pi2_uniform(c, 0, duration), 0, LONGEST - LONGEST / 2);
    class_->start_jitter = pi2_chance(c, 0.4) ? 0 : whole(pi2_uniform(c, 0, duration), 0, LONGEST);
    class_->initial_window = windows[pi2_pick(c, 8)];
    class_->slow_start = pi2_chance(c, 0.7);
    class_->delayed_ack = pi2_chance(c, 0.7);
    class_->push_every = pi2_chance(c, 0.7) ? PI2_PUSH_OF_LINUX : pi2_pick(c, 40);
    class_->paced = pi2_chance(c, 0.3) ? 1 + pi2_pick(c, 2) : 0;
    class_->ecn = pi2_pick(c, 3);
    if (class_->congestion && pi2_chance(c, 0.35))
        make_transfers(c, t, class_);
}

static void make_changes(pi2_choices *c, pi2_test_scenario *t)
{
    pi2_packet_scenario *s = &t->problem;
    double at = 0.0;
    s->change_count = pi2_chance(c, 0.5) ? 0 : pi2_pick(c, PI2_TEST_CHANGES + 1);
    for (int i = 0; i < s->change_count; i++) {
        at += pi2_chance(c, 0.2) ? 0.0 : pi2_uniform(c, 0, (double)s->duration / PI2_TEST_CHANGES);
        t->changes[i].at = whole(at, 0, (double)s->duration);
        t->changes[i].capacity = pi2_chance(c, 0.2) ? 0.0 : -1.0;
        if (pi2_chance(c, 0.6)) {
            const double slot = t->links->slot * (pi2_chance(c, 0.8) ? pi2_spread(c, 0.2, 5) : pi2_spread(c, 0.5, 1e6));
            t->changes[i].capacity = 8e9 * s->packet_size / fmin(fmax(slot, 1.0), LONGEST_SLOT);
        }
        for (int j = 0; j < s->class_count; j++)
            t->counts[i * s->class_count + j] = pi2_chance(c, 0.5) ? -1 : pi2_pick(c, 10);
    }
}

/* Further links, most of them about as fast as the first. */
static void make_links(pi2_choices *c, pi2_test_scenario *t)
{
    const double first = t->links->slot;
    t->problem.link_count = 2 + pi2_pick(c, PI2_TEST_LINKS - 1);
    for (int i = 1; i < t->problem.link_count; i++) {
        pi2_test_link *link = t->links + i;
        const double slot = pi2_chance(c, 0.3)   ? first
                            : pi2_chance(c, 0.9) ? first * pi2_spread(c, 0.1, 3)
                                                 : pi2_spread(c, first, LONGEST_SLOT);
        *link = (pi2_test_link){t->specs + i, t->problem.duration, fmin(fmax(slot, 1.0), LONGEST_SLOT), 0.0, 0};
        link->spec->capacity = 8e9 * t->problem.packet_size / link->slot;
        make_service(c, link);
        pi2_make_discipline(c, link);
    }
}

/* Acknowledgements cross some of the links that are left, perhaps. */
static void make_way_back(pi2_choices *c, pi2_test_scenario *t, int class_, int64_t left)
{
    pi2_packet_class *spec = t->classes + class_;
    const int free = t->problem.link_count - (int)spec->route_length;
    if (free == 0 || pi2_chance(c, 0.4))
        return;
    spec->back = t->routes[class_] + spec->route_length;
    spec->back_hops = t->hops[class_] + spec->route_length;
    spec->back_length = 1 + (uint32_t)pi2_pick(c, free);
    for (uint32_t k = 0; k < spec->back_length; k++) {
        int64_t *hop = t->hops[class_] + spec->route_length + k;
        *hop = pi2_chance(c, 0.5) ? 0 : (int64_t)pi2_uniform(c, 0, (double)left);
        left -= *hop;
    }
}

/* Some of the links in any order, and parts of the way to them, none perhaps. */
static void make_route(pi2_choices *c, pi2_test_scenario *t, int class_)
{
    pi2_packet_class *spec = t->classes + class_;
    uint32_t *route = t->routes[class_];
    int64_t left = spec->base_rtt;
    const int count = t->problem.link_count;
    for (int i = 0; i < count; i++)
        route[i] = (uint32_t)i;
    for (int i = 0; i < count - 1; i++) {
        const int other = i + pi2_pick(c, count - i);
        const uint32_t link = route[other];
        route[other] = route[i];
        route[i] = link;
    }
    spec->route_length = 1 + (uint32_t)pi2_pick(c, count);
    for (uint32_t k = 0; k < spec->route_length; k++) {
        t->hops[class_][k] = pi2_chance(c, 0.4)   ? 0
                             : pi2_chance(c, 0.9) ? (int64_t)pi2_uniform(c, 0, 0.5 * (double)left)
                                                  : left;
        left -= t->hops[class_][k];
    }
    make_way_back(c, t, class_, left);
}

static void make_network(pi2_choices *c, pi2_test_scenario *t)
{
    make_links(c, t);
    for (int i = 0; i < t->problem.class_count; i++)
        make_route(c, t, i);
    for (int i = 0; i < t->problem.change_count; i++)
        t->changes[i].link = (uint32_t)pi2_pick(c, t->problem.link_count);
}

/* Packets lost behind links; no trace then, whose replay takes what leaves a link to arrive. */
static void make_losses(pi2_choices *c, pi2_test_scenario *t)
{
    t->problem.trace = 0;
    for (int i = 0; i < t->problem.link_count; i++) {
        pi2_packet_link *link = t->specs + i;
        link->loss = pi2_chance(c, 0.8) ? pi2_spread(c, 1e-4, 0.5) : 0.0;
        link->loss_burst = pi2_chance(c, 0.5) ? 0.0 : pi2_spread(c, 1, 30) / (1 - link->loss);
    }
}

static void make_detours(pi2_choices *c, pi2_test_scenario *t)
{
    pi2_packet_scenario *s = &t->problem;
    double at = 0.0;
    for (s->detour_count = 0; s->detour_count < PI2_TEST_DETOURS; s->detour_count++) {
        pi2_packet_detour *d = t->detours + s->detour_count;
        const pi2_packet_class *spec;
        at += pi2_uniform(c, 0, (double)s->duration / PI2_TEST_DETOURS);
        *d = (pi2_packet_detour){whole(at, 0, (double)s->duration), make_rtt(c, t), (uint32_t)pi2_pick(c, s->class_count)};
        spec = t->classes + d->class_;
        for (uint32_t k = 0; k < spec->route_length; k++)
            d->base_rtt += spec->hops[k];
        for (uint32_t k = 0; k < spec->back_length; k++)
            d->base_rtt += spec->back_hops[k];
        if (d->base_rtt > LONGEST)
            d->base_rtt = spec->base_rtt;
    }
}

void pi2_make_scenario(pi2_choices *c, pi2_test_scenario *t)
{
    pi2_packet_scenario *s = &t->problem;
    memset(t, 0, sizeof *t);
    s->link_count = 1;
    t->links->spec = t->specs;
    make_first_link(c, t);
    t->links->duration = s->duration;
    pi2_make_discipline(c, t->links);
    s->class_count = 1 + (pi2_chance(c, 0.4) ? 0 : pi2_pick(c, PI2_TEST_CLASSES));
    for (int i = 0; i < s->class_count; i++)
        make_class(c, t, t->classes + i);
    make_changes(c, t);
    if (pi2_chance(c, 0.5))
        make_network(c, t);
    if (pi2_chance(c, 0.15))
        make_losses(c, t);
    if (pi2_chance(c, 0.2))
        make_detours(c, t);
    s->detours = t->detours;
    s->links = t->specs;
    s->classes = t->classes;
    s->changes = t->changes;
    s->counts = t->counts;
}

void pi2_print_scenario(const pi2_test_scenario *t)
{
    const pi2_packet_scenario *s = &t->problem;
    printf("%lld ns in bins of %lld, %d bytes\n", (long long)s->duration, (long long)s->bin, s->packet_size);
    for (int i = 0; i < s->link_count; i++) {
        const pi2_packet_link *l = s->links + i;
        printf("link %d, %s, ring %u, bql %d from %lld to %lld, delay on %d, %.9g bit/s (%.9g ns), buffer %lld, jitter "
               "%lld ns, %s:", i, l->kind ? "htb" : "wire", l->ring, l->bql, (long long)l->bql_least,
               (long long)l->bql_most, l->delay_on, l->capacity, t->links[i].slot, (long long)l->buffer,
               (long long)l->ack_jitter, l->qdisc->name);
        for (int j = 0; j < l->qdisc->parameters; j++)
            printf(" %s %.9g", l->qdisc->names[j], l->qdisc_parameters[j]);
        printf("\n");
    }
    for (int i = 0; i < s->class_count; i++) {
        const pi2_packet_class *k = s->classes + i;
        printf("%u of %s", k->count, k->congestion ? k->congestion->name : "cbr");
        for (int j = 0; k->congestion && j < k->congestion->parameters; j++)
            printf(" %s %.9g", k->congestion->names[j], k->parameters[j]);
        if (!k->congestion)
            printf(" every %.9g ns %u bytes, %.9g ns each, random %d, for %.9g and pausing for %.9g ns", k->interval,
                   k->burst, k->spacing, k->poisson, k->sends, k->pause);
        printf(", packets of %d bytes, rtt %lld, from %lld to %lld, jitter %lld ns, window %u, slow start %d, delayed %d, "
               "push %d, ecn %d, route", k->packet_size, (long long)k->base_rtt, (long long)k->start, (long long)k->stop,
               (long long)k->start_jitter, k->initial_window, k->slow_start, k->delayed_ack, k->push_every, k->ecn);
        if (k->sizes.kind)
            printf(" transfers %d of %zu: %.9g %.9g %.9g, idle %.9g, gap %.9g ns,", k->sizes.kind, k->sizes.count,
                   t->sizes[i][0], t->sizes[i][1], t->sizes[i][2], k->idle, k->gap);
        for (uint32_t j = 0; j < k->route_length; j++)
            printf(" %u after %lld ns", k->route[j], (long long)k->hops[j]);
        for (uint32_t j = 0; j < k->back_length; j++)
            printf("%s %u after %lld ns", j ? "" : ", back", k->back[j], (long long)k->back_hops[j]);
        printf("\n");
    }
    for (int i = 0; i < s->change_count; i++) {
        printf("at %lld ns: link %u %.9g bit/s, flows", (long long)s->changes[i].at, s->changes[i].link,
               s->changes[i].capacity);
        for (int j = 0; j < s->class_count; j++)
            printf(" %lld", (long long)s->counts[i * s->class_count + j]);
        printf("\n");
    }
}
