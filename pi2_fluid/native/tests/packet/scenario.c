/* Random scenarios: link, classes, changes. Times are drawn in slots of the link, so that whatever its rate, things
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

static void make_link(pi2_choices *c, pi2_test_scenario *t)
{
    static const int sizes[] = {64, 74, 590, 1500, 1500, 1500, 9000};
    static const double buffers[] = {1, 2, 3, 10, 100, 1000, 1e5, 1e9};
    pi2_packet_scenario *s = &t->problem;
    double packets = pi2_spread(c, 10, 1500);
    s->packet_size = pi2_chance(c, 0.7)    ? sizes[pi2_pick(c, 7)]
                     : pi2_chance(c, 0.9) ? 64 + pi2_pick(c, 9000 - 63)
                                          : 64 + pi2_pick(c, 65535 - 63);
    t->slot = pi2_chance(c, 0.6) ? pi2_spread(c, 1e4, 1e7) : pi2_chance(c, 0.7) ? pi2_spread(c, 10, 1e5)
              : pi2_chance(c, 0.9) ? pi2_spread(c, 1, 1e13)                    : pi2_spread(c, 1, LONGEST_SLOT);
    s->capacity = 8e9 * s->packet_size / t->slot;
    /* hours are many events, as senders try again every two minutes; who chooses by bytes counts events instead */
    if (!c->bytes && packets * t->slot > 2e13)
        packets = 2e13 / t->slot;
    s->duration = whole(packets * t->slot, 1, LONGEST);
    s->bin = pi2_chance(c, 0.9) ? whole((double)s->duration / pi2_spread(c, 1, 300), 1, LONGEST)
                                : whole((double)s->duration * pi2_spread(c, 1, 10), 1, LONGEST);
    s->kind = pi2_pick(c, 2);
    s->delay_on = pi2_pick(c, 3);
    s->ack_jitter = pi2_chance(c, 0.4) ? 0 : pi2_chance(c, 0.5) ? 1000 : whole(pi2_spread(c, 1, 0x1p31), 1, 0x1p31);
    s->buffer = pi2_chance(c, 0.7) ? (int64_t)buffers[pi2_pick(c, 8)] : (int64_t)pi2_spread(c, 1, 300);
    s->trace = pi2_chance(c, 0.6) ? 30000 : pi2_pick(c, 30);
    s->seed = pi2_choose_bits(c) << 32;
    s->seed |= pi2_choose_bits(c);
}

static void put(pi2_packet_class *class_, const char *name, double value)
{
    pi2_put(class_->parameters, class_->congestion->names, name, value);
}

static void make_sender(pi2_choices *c, const pi2_test_scenario *t, pi2_packet_class *class_)
{
    static const char *const names[] = {"reno", "cubic", "dctcp", "scalable", "reno", "prague"};
    static const double halves[] = {0.5, 0.3, 1.0};
    const int which = pi2_pick(c, 7), fixed = pi2_pick(c, 2);
    if (which == 6) { /* up to three times what the link carries, all its flows together */
        class_->interval = fmax(1.0, t->slot * (1 + class_->count) * pi2_spread(c, 0.3, 30));
        class_->interval = fmin(class_->interval, LONGEST_SLOT);
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
    } else if (which == 3) {
        put(class_, "per_mark", pi2_chance(c, 0.5) ? 0.5 : pi2_spread(c, 0.01, 100));
    } else if (which == 5) {
        put(class_, "gain", pi2_uniform(c, 1e-3, 1.0));
        put(class_, "target_rtt", pi2_chance(c, 0.5) ? 0.025 : pi2_spread(c, 1e-6, 1e3));
        put(class_, "first_alpha", fixed);
        put(class_, "rounds", pi2_pick(c, 10));
    } else {
        put(class_, "decrease", pi2_chance(c, 0.7) ? halves[pi2_pick(c, 3)] : pi2_uniform(c, 0.01, 1.0));
    }
}

static int64_t make_rtt(pi2_choices *c, const pi2_test_scenario *t)
{
    if (pi2_chance(c, 0.15))
        return 0;
    if (pi2_chance(c, 0.85))
        return whole(t->slot * pi2_spread(c, 0.2, 100), 0, LONGEST);
    return whole(pi2_chance(c, 0.8) ? pi2_spread(c, 1, 1e9) : pi2_spread(c, 1, LONGEST), 0, LONGEST);
}

static void make_class(pi2_choices *c, const pi2_test_scenario *t, pi2_packet_class *class_)
{
    static const uint32_t windows[] = {10, 10, 10, 1, 2, 4, 100, 1000};
    const double duration = (double)t->problem.duration;
    memset(class_, 0, sizeof *class_);
    class_->count = (uint32_t)(pi2_chance(c, 0.95) ? pi2_pick(c, 8) : pi2_pick(c, 150));
    make_sender(c, t, class_);
    class_->base_rtt = make_rtt(c, t);
    class_->start = pi2_chance(c, 0.6) ? 0 : whole(pi2_uniform(c, 0, duration * 1.1), 0, LONGEST);
    class_->stop = pi2_chance(c, 0.6) ? PI2_NEVER
                                      : class_->start + whole(pi2_uniform(c, 0, duration), 0, LONGEST - LONGEST / 2);
    class_->start_jitter = pi2_chance(c, 0.4) ? 0 : whole(pi2_uniform(c, 0, duration), 0, LONGEST);
    class_->initial_window = windows[pi2_pick(c, 8)];
    class_->slow_start = pi2_chance(c, 0.7);
    class_->delayed_ack = pi2_chance(c, 0.7);
    class_->paced = pi2_chance(c, 0.3);
    class_->ecn = pi2_pick(c, 3);
}

static void make_changes(pi2_choices *c, pi2_test_scenario *t)
{
    pi2_packet_scenario *s = &t->problem;
    double at = 0.0;
    s->change_count = pi2_chance(c, 0.5) ? 0 : pi2_pick(c, PI2_TEST_CHANGES + 1);
    for (int i = 0; i < s->change_count; i++) {
        at += pi2_chance(c, 0.2) ? 0.0 : pi2_uniform(c, 0, (double)s->duration / PI2_TEST_CHANGES);
        t->changes[i].at = whole(at, 0, (double)s->duration);
        t->changes[i].capacity = 0.0;
        if (pi2_chance(c, 0.6)) {
            const double slot = t->slot * (pi2_chance(c, 0.8) ? pi2_spread(c, 0.2, 5) : pi2_spread(c, 0.5, 1e6));
            t->changes[i].capacity = 8e9 * s->packet_size / fmin(fmax(slot, 1.0), LONGEST_SLOT);
        }
        for (int j = 0; j < s->class_count; j++)
            t->counts[i * s->class_count + j] = pi2_chance(c, 0.5) ? -1 : pi2_pick(c, 10);
    }
}

void pi2_make_scenario(pi2_choices *c, pi2_test_scenario *t)
{
    pi2_packet_scenario *s = &t->problem;
    memset(t, 0, sizeof *t);
    make_link(c, t);
    pi2_make_discipline(c, t);
    s->class_count = 1 + (pi2_chance(c, 0.4) ? 0 : pi2_pick(c, PI2_TEST_CLASSES));
    for (int i = 0; i < s->class_count; i++)
        make_class(c, t, t->classes + i);
    make_changes(c, t);
    s->classes = t->classes;
    s->changes = t->changes;
    s->counts = t->counts;
}

void pi2_print_scenario(const pi2_test_scenario *t)
{
    const pi2_packet_scenario *s = &t->problem;
    printf("%s:", s->qdisc->name);
    for (int i = 0; i < s->qdisc->parameters; i++)
        printf(" %s %.9g", s->qdisc->names[i], s->qdisc_parameters[i]);
    printf("\n%s, delay on %d, %.9g bit/s, %d bytes (%.9g ns), buffer %lld, jitter %lld ns, %lld ns in bins of %lld\n",
           s->kind ? "htb" : "wire", s->delay_on, s->capacity, s->packet_size, t->slot, (long long)s->buffer,
           (long long)s->ack_jitter, (long long)s->duration, (long long)s->bin);
    for (int i = 0; i < s->class_count; i++) {
        const pi2_packet_class *k = s->classes + i;
        printf("%u of %s", k->count, k->congestion ? k->congestion->name : "cbr");
        for (int j = 0; k->congestion && j < k->congestion->parameters; j++)
            printf(" %s %.9g", k->congestion->names[j], k->parameters[j]);
        printf(", interval %.9g, rtt %lld, from %lld to %lld, jitter %lld ns, window %u, slow start %d, delayed %d, "
               "ecn %d\n", k->interval, (long long)k->base_rtt, (long long)k->start, (long long)k->stop,
               (long long)k->start_jitter, k->initial_window, k->slow_start, k->delayed_ack, k->ecn);
    }
    for (int i = 0; i < s->change_count; i++) {
        printf("at %lld ns: %.9g bit/s, flows", (long long)s->changes[i].at, s->changes[i].capacity);
        for (int j = 0; j < s->class_count; j++)
            printf(" %lld", (long long)s->counts[i * s->class_count + j]);
        printf("\n");
    }
}
