/* Checks parts of the packet simulator by themselves: timers and pipes against naive lists, the round-trip estimator,
 * the buckets of delays, the slots of the link. Meant to be built with -DPI2_SANITIZE=ON. The exit status is 1 when
 * something is wrong. */
#include <math.h>
#include <stdio.h>

#include "packet/run/statistics.h"
#include "packet/tcp/jiffies.h"
#include "packet/tcp/rtt.h"
#include "tests/packet/scenario.h"

static pi2_choices random_;
static int wrong;

static void expect(int good, const char *what)
{
    if (!good) {
        printf("%s\n", what);
        wrong = 1;
    }
}

/* Timers: whatever the mix of near and far deadlines, they come in the order (deadline, number), on time. */

enum { TIMERS = 14 * PI2_TIMERS_EACH };

static uint32_t first_of(const int64_t *deadlines)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < TIMERS; i++)
        if (deadlines[i] < deadlines[first])
            first = i;
    return first;
}

static int64_t some_wait(void)
{
    return pi2_chance(&random_, 0.1) ? pi2_pick(&random_, 3) : (int64_t)pi2_spread(&random_, 1, 1e11);
}

static void check_timers(int rounds)
{
    static pi2_flow flows[TIMERS / PI2_TIMERS_EACH];
    pi2_timers timers;
    int64_t deadlines[TIMERS], now = 0;
    expect(pi2_timers_new(&timers, flows->timers, sizeof *flows, TIMERS / PI2_TIMERS_EACH), "no memory for timers");
    for (int i = 0; i < TIMERS; i++)
        deadlines[i] = PI2_NEVER;
    for (int round = 0; round < rounds && !wrong; round++) {
        const uint32_t i = (uint32_t)pi2_pick(&random_, TIMERS), next = first_of(deadlines);
        pi2_timer *timer = flows[i / PI2_TIMERS_EACH].timers + i % PI2_TIMERS_EACH;
        if (pi2_chance(&random_, 0.2)) {
            deadlines[i] = PI2_NEVER;
            pi2_timer_stop(timer);
        } else if (pi2_chance(&random_, 0.6)) {
            deadlines[i] = now + some_wait();
            pi2_timer_set(&timers, timer, deadlines[i]);
        } else if (deadlines[next] != PI2_NEVER) {
            uint32_t taken = PI2_NO_TIMER;
            while (taken == PI2_NO_TIMER && timers.due <= deadlines[next])
                taken = pi2_timers_take(&timers, timers.due);
            now = deadlines[next];
            deadlines[next] = PI2_NEVER;
            expect(taken == next, "another timer came than the first");
        }
        expect(timers.due <= deadlines[first_of(deadlines)], "the timers would come too late");
    }
    pi2_timers_free(&timers);
}

/* Pipes: by (due, pipe, order of entry), and no item overtakes another of its pipe. */

enum { PIPES = 5, ITEMS = 300 };

typedef struct {
    int64_t due;
    uint32_t pipe, number;
} item;

static const item *first_item(const item *items, int count)
{
    const item *first = items;
    for (const item *i = items; i < items + count; i++)
        if (i->due < first->due || (i->due == first->due && i->pipe < first->pipe)
            || (i->due == first->due && i->pipe == first->pipe && i->number < first->number))
            first = i;
    return first;
}

static void check_pipes(int rounds)
{
    static const int64_t delays[PIPES] = {0, 1000, 2000, 3000, 4000};
    static item items[ITEMS];
    pi2_pipes pipes;
    int64_t last[PIPES] = {0}, now = 0;
    int count = 0;
    uint32_t number = 0;
    expect(pi2_pipes_new(&pipes, delays, PIPES, sizeof number), "no memory for pipes");
    for (int round = 0; round < rounds && !wrong; round++) {
        if (count < ITEMS && pi2_chance(&random_, 0.51)) {
            const uint32_t pipe = (uint32_t)pi2_pick(&random_, PIPES);
            const int64_t due = now + pipes.pipes[pipe].delay + pi2_pick(&random_, 100);
            uint32_t *place = pi2_pipes_put(&pipes, pipe, due);
            last[pipe] = due > last[pipe] ? due : last[pipe];
            items[count++] = (item){last[pipe], pipe, number};
            *place = number++;
        } else if (count) {
            const item *first = first_item(items, count);
            expect(pi2_pipes_due(&pipes) == first->due, "the pipes tell another time than that of their first item");
            now = first->due;
            expect(*(const uint32_t *)pi2_pipes_take(&pipes) == first->number, "another item came than the first");
            items[first - items] = items[--count];
        }
    }
    while (count-- > 0)
        pi2_pipes_take(&pipes);
    expect(pi2_pipes_due(&pipes) == PI2_NEVER, "the pipes are empty, but something is due");
    pi2_pipes_free(&pipes);
}

/* The estimator: it converges to a round trip that stays the same, and the timeout is 200 ms beyond it or more. */
static void check_rtt(void)
{
    for (double us = 1.0; us < 1e13; us *= 3.7) {
        pi2_flow f = {0};
        const double counted = fmin(us, PI2_LONGEST_SAMPLE_US);
        for (int i = 0; i < 300; i++) {
            pi2_rtt_sample(&f, (int64_t)(us * pi2_uniform(&random_, 1.0, i < 100 ? 3.0 : 1.0)));
            f.window.una = f.window.next += 10;
            expect(f.rto == PI2_RTO_MAX_MS || f.rto * 1e3 >= (double)(f.srtt >> 3) + PI2_RTO_MIN_US,
                   "the timeout is less than the round trip and 200 ms");
            expect(f.rto <= PI2_RTO_MAX_MS, "the timeout is longer than the longest");
        }
        expect(fabs((double)f.window.srtt / 1e3 - floor(counted)) <= 1.0, "the mean is not what was sampled");
    }
    for (int i = 0; i < 100000; i++) {
        const int64_t now = (int64_t)pi2_spread(&random_, 1, 1e17), ms = (int64_t)pi2_spread(&random_, 1, 120000);
        const int64_t late = pi2_jiffy_timer(now, ms) - now - ms * PI2_MS;
        expect(late >= 0 && late <= ms * PI2_MS / 7 + PI2_MS, "a timer is too early, or more than 1/7 too late");
    }
}

/* Every delay lies between the edges of its bucket. */
static void check_buckets(void)
{
    static uint32_t delays[PI2_DELAY_BUCKETS];
    pi2_leg leg = {.delays = delays};
    static pi2_flow flow;
    pi2_run run = {.legs = &leg, .flows = &flow, .buckets = PI2_DELAY_BUCKETS};
    for (int i = 0; i < 200000; i++) {
        const int64_t ns = i < PI2_DELAY_BUCKETS ? (int64_t)(pi2_delay_edge(i) * 1e9 + 0.5)
                                                 : (int64_t)pi2_spread(&random_, 1, 0x1p54);
        const pi2_packet packet = {.enqueued = 5};
        int bucket = 0;
        pi2_departed(&run, &packet, 5 + ns);
        while (!delays[bucket])
            bucket++;
        delays[bucket] = 0;
        if (i < PI2_DELAY_BUCKETS)
            expect(bucket == i, "the edge of a bucket lies in another");
        expect((double)(ns / 1000) >= pi2_delay_edge(bucket) * 1e6 * (1 - 1e-12)
                   && (bucket == PI2_DELAY_BUCKETS - 1
                       || (double)(ns / 1000) < pi2_delay_edge(bucket + 1) * 1e6 * (1 - 1e-12)),
               "a delay lies outside its bucket");
    }
}

/* A slot is what the bits take, rounded to ns; htb truncates. */
static void check_slots(void)
{
    static pi2_hop hop;
    for (int i = 0; i < 200000; i++) {
        const int bytes = 64 + pi2_pick(&random_, 65535 - 63);
        const double capacity = pi2_spread(&random_, 1, 8e9 * 64), exact = 8e9 * bytes / capacity;
        int64_t slot;
        hop.kind = pi2_pick(&random_, 2);
        hop.queue.mtu = bytes;
        hop.queue.capacity = capacity;
        pi2_hop_capacity(&hop, capacity, 0);
        slot = pi2_slot_of(&hop, bytes);
        if (hop.kind == PI2_LINK_WIRE || !hop.htb_factor)
            expect(fabs((double)slot - exact) <= 0.5 + 1e-15 * exact, "a slot is not what the bits take");
        else /* the rate is in whole bytes per second */
            expect((double)slot <= exact * (capacity / 8) / floor(capacity / 8) + 1
                       && (double)slot >= exact * (1 - 0x1p-26) - 1,
                   "a slot of htb is not what the bits take");
    }
}

int main(void)
{
    random_.key = 1;
    for (int i = 0; i < 20; i++) {
        check_timers(20000);
        check_pipes(20000);
    }
    check_rtt();
    check_buckets();
    check_slots();
    printf(wrong ? "FAILED\n" : "passed\n");
    return wrong;
}
