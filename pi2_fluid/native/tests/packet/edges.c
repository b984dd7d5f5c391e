/* Checks the packet simulator at the edges of what its door allows: a run of 1 ns, packets that take a quarter of a
 * year, crowds, classes without flows, everything at one instant. Meant to be built with -DPI2_SANITIZE=ON. The exit
 * status is 1 when something is wrong. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "packet/queues/pi_controller.h"
#include "tests/packet/checks.h"
#include "tests/put.h"

typedef void (*twist)(pi2_test_scenario *s);

static void change(pi2_test_scenario *s, int64_t at, double capacity, int64_t first, int64_t second)
{
    const int i = s->problem.change_count++;
    s->changes[i] = (pi2_packet_change){.at = at, .capacity = capacity};
    s->counts[2 * i] = first;
    s->counts[2 * i + 1] = second;
}

static void put(pi2_test_scenario *s, const char *name, double value)
{
    pi2_put(s->specs->qdisc_parameters, s->specs->qdisc->names, name, value);
}

static void instant(pi2_test_scenario *s)
{
    s->problem.duration = 1;
}

static void one_bin(pi2_test_scenario *s)
{
    s->problem.bin = PI2_LONGEST;
}

static void hurried(pi2_test_scenario *s) /* an update every ns, on a link of 1 Tbit/s */
{
    put(s, "update_interval", 1e-9);
    put(s, "first_update", 1e-9);
    s->specs->capacity = 1e12;
    s->problem.duration = 20000;
    s->classes[1].interval = 1.0;
}

static void leisurely(pi2_test_scenario *s)
{
    put(s, "update_interval", 10.0);
    put(s, "first_update", 5.0);
}

static void pushed(pi2_test_scenario *s) /* p', beyond its bounds, for fewer updates than there are */
{
    static const double pushes[] = {0.1, 5.0, -7.0, 0.2, 0.3};
    s->specs->pushes = pushes;
    s->specs->push_count = sizeof pushes / sizeof *pushes;
}

static void nobody(pi2_test_scenario *s)
{
    s->classes[0].count = s->classes[1].count = 0;
}

static void comings_and_goings(pi2_test_scenario *s) /* several at one instant, and at both ends */
{
    nobody(s);
    change(s, 0, 2e6, 5, 0);
    change(s, 300000000, 0.0, 0, 2);
    change(s, 300000000, 5e5, 3, 0);
    change(s, s->problem.duration, 1e6, 0, 100);
}

static void no_time_at_all(pi2_test_scenario *s)
{
    s->classes[0].start = s->classes[0].stop = 1000;
    s->classes[1].start = s->problem.duration;
}

static void far_away(pi2_test_scenario *s)
{
    s->classes[0].base_rtt = s->classes[1].start = s->classes[0].start_jitter = PI2_LONGEST;
}

static void slow(pi2_test_scenario *s) /* 12000 s for a packet */
{
    s->specs->capacity = 1.0;
    s->problem.duration = INT64_C(50000000000000);
    s->problem.bin = INT64_C(1000000000000);
    s->classes[1].interval = 1e13;
}

static void tight(pi2_test_scenario *s)
{
    s->specs->buffer = 1;
    s->problem.packet_size = s->classes[0].packet_size = s->classes[1].packet_size = 64;
}

static void jumps(pi2_test_scenario *s) /* a packet in service lasts a quarter of a year, and then a ns */
{
    change(s, 100000000, 12000e9 / 0x1p53, -1, -1);
    change(s, 200000000, 12000e9, -1, -1);
    change(s, 200000010, 12000e9 / 0x1p53, -1, -1);
    change(s, 400000000, 1e6, -1, -1);
}

static void burst(pi2_test_scenario *s) /* 16 MiB at once in packets of 64 bytes, before each pause */
{
    s->classes[1].packet_size = 64;
    s->classes[1].burst = 1 << 24;
    s->classes[1].interval = 2e8;
    s->classes[1].poisson = 1;
    s->classes[1].sends = 2e5;
    s->classes[1].pause = 1e8;
}

static void pauses(pi2_test_scenario *s) /* as short and as long as can be */
{
    s->classes[1].interval = s->classes[1].sends = 1.0;
    s->classes[1].pause = 0x1p53;
}

static void trickle(pi2_test_scenario *s) /* bursts that last longer than their interval */
{
    s->classes[1].burst = 3001;
    s->classes[1].interval = 1e6;
    s->classes[1].spacing = 1e6;
}

static void crowd(pi2_test_scenario *s)
{
    s->classes[0].count = 100000;
    s->problem.bin = s->problem.duration;
}

static void in_a_row(pi2_test_scenario *s) /* links one after the other, no way between them */
{
    s->problem.link_count = PI2_TEST_LINKS;
    for (int link = 0; link < PI2_TEST_LINKS; link++) {
        s->specs[link] = s->specs[0];
        s->routes[0][link] = (uint32_t)link;
        s->routes[1][link] = (uint32_t)(PI2_TEST_LINKS - 1 - link);
    }
    s->classes[0].route_length = s->classes[1].route_length = PI2_TEST_LINKS;
}

static void tight_row(pi2_test_scenario *s) /* no room for a second packet anywhere, and a way to the first alone */
{
    in_a_row(s);
    for (int link = 0; link < PI2_TEST_LINKS; link++)
        s->specs[link].buffer = 1;
    s->hops[0][0] = s->classes[0].base_rtt;
}

static void narrowing_row(pi2_test_scenario *s) /* its last link stops for a while, and then all but stops */
{
    in_a_row(s);
    change(s, 100000000, 12000e9 / 0x1p53, -1, -1);
    change(s, 200000000, 1e9, -1, -1);
    change(s, 200000000, 1.0, -1, -1);
    s->changes[0].link = s->changes[1].link = PI2_TEST_LINKS - 1;
}

static void transfers(pi2_test_scenario *s, double size, double idle, double gap)
{
    s->sizes[0][0] = size;
    s->classes[0].sizes = (pi2_sizes){PI2_SIZES_FIXED, 1, s->sizes[0]};
    s->classes[0].idle = idle;
    s->classes[0].gap = gap;
}

static void restless(pi2_test_scenario *s) /* one segment after the other, no way, no wait, a new connection for each */
{
    transfers(s, 1, 0.0, 0.0);
    s->classes[0].base_rtt = 0;
    s->specs->ack_jitter = 0;
    s->specs->capacity = 1e9;
}

static void lost_tails(pi2_test_scenario *s) /* whose last segments are lost again and again */
{
    transfers(s, 3, 1e6, 0.0);
    tight(s);
}

static void flood(pi2_test_scenario *s) /* far more arrive than there are flows for, which come and go */
{
    transfers(s, 2, 0.0, 1e4);
    change(s, 100000000, 0.0, 0, -1);
    change(s, 200000000, 0.0, 5, -1);
    change(s, 300000000, 0.0, 1, -1);
}

static void endless_transfers(pi2_test_scenario *s)
{
    transfers(s, 1e300, 1e300, 0.0);
}

static void put_sender(pi2_test_scenario *s, const char *name, double value)
{
    pi2_put(s->classes[0].parameters, s->classes[0].congestion->names, name, value);
}

static void priced(pi2_test_scenario *s) /* whose utility wants more than there are numbers for, or next to nothing */
{
    s->specs->qdisc = &pi2_qdisc_price;
    put(s, "phi", 1.0 + 1e-9);
    put(s, "utilization", 1e-9);
    put(s, "update_interval", 1e-3);
    memset(s->classes[0].parameters, 0, sizeof s->classes[0].parameters);
    s->classes[0].congestion = &pi2_cc_paganini;
    s->classes[0].paced = 1;
    s->classes[0].ecn = PI2_ECT1;
    put_sender(s, "alpha", 1e6);
    put_sender(s, "beta", 1e300);
    put_sender(s, "k", 1e300);
    put_sender(s, "fairness", 300.0);
    put_sender(s, "links", 1e-9);
    put_sender(s, "phi", 1.0 + 1e-9);
    put_sender(s, "window", 128.0);
    put_sender(s, "interval", 1e-5);
    put_sender(s, "max_increment", 1e6);
    put_sender(s, "max_decrement", 1e-9);
}

static void priced_near(pi2_test_scenario *s) /* no way, and updates by windows */
{
    priced(s);
    put_sender(s, "by_window", 1.0);
    put_sender(s, "k", 1e-300);
    put_sender(s, "max_increment", 1.0);
    s->classes[0].base_rtt = 0;
    s->specs->ack_jitter = 0;
    s->specs->capacity = 1e9;
}

static void priced_transfers(pi2_test_scenario *s) /* again and again from the beginning, static */
{
    transfers(s, 30, 1e6, 0.0);
    priced(s);
    put_sender(s, "largest_rate", 1e12);
    s->specs->buffer = 5;
}

/* 0 if something is wrong. */
static int at_edge(twist how, int kind, int delay_on)
{
    static pi2_test_scenario s;
    static const pi2_pi_parameters parameters = {
        .law = {.pi = {.alpha = 0.3, .beta = 3.0, .target = 0.02, .update_interval = 0.016, .limit = 1.0}, .k = 2.0},
        .first_update = 0.016,
        .decay = 1.0};
    pi2_packet_outcome o;
    int refused, good = 1;
    pi2_run *run;
    memset(&s, 0, sizeof s);
    s.problem = (pi2_packet_scenario){.seed = 1, .duration = 500000000, .bin = 100000000, .packet_size = 1500,
                                      .link_count = 1, .links = s.specs, .class_count = 2, .classes = s.classes,
                                      .changes = s.changes, .counts = s.counts, .trace = 100000};
    s.specs[0] = (pi2_packet_link){.capacity = 1e6, .kind = kind, .delay_on = delay_on, .ack_jitter = 1000,
                                   .buffer = 50, .qdisc = &pi2_qdisc_pi2};
    memcpy(s.specs[0].qdisc_parameters, &parameters, sizeof parameters);
    s.classes[0] = (pi2_packet_class){.congestion = &pi2_cc_reno, .count = 3, .base_rtt = 20000000,
                                      .stop = PI2_NEVER, .initial_window = 10, .slow_start = 1};
    pi2_put(s.classes[0].parameters, pi2_cc_reno.names, "decrease", 0.5);
    s.classes[1] = (pi2_packet_class){.interval = 5e7, .burst = 1500, .count = 1, .stop = PI2_NEVER};
    for (int i = 0; i < 2; i++) {
        s.classes[i].packet_size = s.problem.packet_size;
        s.classes[i].route_length = 1;
        s.classes[i].route = s.routes[i];
        s.classes[i].hops = s.hops[i];
    }
    how(&s);
    for (int i = 0; i < s.problem.link_count; i++)
        s.links[i] = (pi2_test_link){s.specs + i, s.problem.duration,
                                     8e9 * s.problem.packet_size / s.specs[i].capacity,
                                     s.specs[i].qdisc == &pi2_qdisc_price ? INFINITY : 1.0, 0};
    run = pi2_run_new(&s.problem, &refused);
    if (!run)
        return 0;
    while (good && pi2_run_advance(run, 1000) == PI2_RUN_MORE)
        good = how == crowd || pi2_check_inside(run); /* a look at a crowd takes long */
    pi2_run_outcome(run, &o);
    good = good && pi2_check_inside(run) && pi2_check_outcome(&s, &o, 1) && pi2_check_trace(&s, run);
    pi2_run_free(run);
    return good;
}

int main(void)
{
    static const struct {
        const char *name;
        twist how;
    } edges[] = {{"instant", instant}, {"one bin", one_bin}, {"hurried", hurried}, {"leisurely", leisurely},
                 {"pushed", pushed}, {"nobody", nobody}, {"comings and goings", comings_and_goings},
                 {"no time at all", no_time_at_all}, {"far away", far_away}, {"slow", slow}, {"tight", tight},
                 {"jumps", jumps}, {"burst", burst}, {"pauses", pauses}, {"trickle", trickle}, {"crowd", crowd}, {"in a row", in_a_row},
                 {"tight row", tight_row}, {"narrowing row", narrowing_row}, {"restless", restless},
                 {"lost tails", lost_tails}, {"flood", flood}, {"endless transfers", endless_transfers},
                 {"priced", priced}, {"priced near", priced_near}, {"priced transfers", priced_transfers}};
    int wrong = 0;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        for (int where = PI2_DELAY_RETURN; where <= PI2_DELAY_SPLIT; where++)
            for (int kind = PI2_LINK_WIRE; kind <= PI2_LINK_HTB; kind++)
                if (!at_edge(edges[i].how, kind, where)) {
                    printf("%s: wrong, with link %d and delay on %d\n", edges[i].name, kind, where);
                    wrong = 1;
                }
    printf(wrong ? "FAILED\n" : "passed\n");
    return wrong;
}
