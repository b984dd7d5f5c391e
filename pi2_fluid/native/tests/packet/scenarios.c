/* Checks the packet simulator without Python: random scenarios, each of which must keep its books, give the same bytes
 * when it is interrupted, and never do the impossible (checks.h). Meant to be built with -DPI2_SANITIZE=ON.
 *
 *   packet_selftest [runs]          prints a digest of each run, which a build with PI2_PLAIN_CORE must print likewise
 *   packet_selftest show <number>   prints one scenario and runs it
 *
 * The exit status is 1 when something is wrong; what it is goes before the digest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/packet/checks.h"

enum { RUNS = 8000, MOST_EVENTS = 4000000 };

#ifdef PI2_PLAIN_CORE
enum { PLAIN = 1 };
#else
enum { PLAIN = 0 };
#endif

static long long events, packets;

/* In parts of `part` events, with a look inside after each if `look`. 0 if something is wrong. */
static int run_scenario(const pi2_test_scenario *s, int64_t part, int look, uint64_t *digest)
{
    pi2_packet_outcome o;
    int refused, status, good = 1;
    int64_t handled = 0, time = 0;
    pi2_run *run = pi2_run_new(&s->problem, &refused);
    if (!run) {
        printf(refused ? "the discipline refuses its parameters\n" : "no memory\n");
        return 0;
    }
    while ((status = pi2_run_advance(run, part)) == PI2_RUN_MORE && good && handled < MOST_EVENTS) {
        handled += part;
        if (pi2_run_time(run) < time) {
            printf("time went back\n");
            good = 0;
        }
        time = pi2_run_time(run);
        if (good && look)
            good = pi2_check_inside(run);
    }
    pi2_run_outcome(run, &o);
    if (status != PI2_RUN_DONE && good) {
        printf("status %d after %lld events\n", status, (long long)o.events);
        good = 0;
    }
    good = good && pi2_check_inside(run) && pi2_check_outcome(s, &o, 1) && pi2_check_trace(s, run);
    *digest = pi2_digest(&o);
    events += o.events;
    packets += o.packets;
    pi2_run_free(run);
    return good;
}

static void make(uint64_t number, pi2_test_scenario *s)
{
    pi2_choices choices = {.key = pi2_stream_key(number, 0)};
    pi2_make_scenario(&choices, s);
}

static int check(uint64_t number)
{
    static const int64_t parts[] = {1, 7, 97, 1000};
    static pi2_test_scenario s;
    uint64_t whole = 0, again = 0;
    int good;
    make(number, &s);
    good = run_scenario(&s, MOST_EVENTS, 0, &whole);
    if (good && !PLAIN) {
        good = run_scenario(&s, parts[number % 4], number % 4 > 1, &again);
        if (good && whole != again) {
            printf("other bytes when it is interrupted\n");
            good = 0;
        }
    }
    printf("%llu %s %016llx%s\n", (unsigned long long)number, s.specs->qdisc->name, (unsigned long long)whole,
           good ? "" : " WRONG");
    return good;
}

int main(int count, char **arguments)
{
    const int show = count > 2 && !strcmp(arguments[1], "show");
    const uint64_t runs = count > 1 && !show ? strtoull(arguments[1], NULL, 10) : RUNS;
    int wrong = 0;
    if (show) {
        static pi2_test_scenario s;
        const uint64_t number = strtoull(arguments[2], NULL, 10);
        make(number, &s);
        pi2_print_scenario(&s);
        wrong = !check(number);
        printf("%lld events, %lld packets\n", events, packets);
        return wrong;
    }
    for (uint64_t number = 0; number < runs; number++)
        wrong += !check(number);
    fprintf(stderr, "%llu scenarios, %lld events, %lld packets: %d wrong\n", (unsigned long long)runs, events, packets,
            wrong);
    return wrong != 0;
}
