/* Fuzzing: bytes become a scenario within the ranges of the door, which runs for some thousand events and is checked as
 * scenarios.c checks its own. Built with -DPI2_LIBFUZZER and -fsanitize=fuzzer, libFuzzer chooses the bytes
 * (`make fuzz`); without, the driver at the end mutates them blindly, with any compiler:
 *
 *   packet_fuzz [seconds]       5 s unless said otherwise
 *   packet_fuzz show <file>     prints the scenario of these bytes and runs it
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/packet/checks.h"

enum { MOST_EVENTS = 20000, PART = 500, MOST_BYTES = 1024, POOL = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void fail(const pi2_test_scenario *s)
{
    pi2_print_scenario(s);
    fflush(stdout);
    abort();
}

static void run_bytes(const uint8_t *bytes, size_t size, int show)
{
    static pi2_test_scenario s;
    pi2_choices choices = {.bytes = bytes, .left = size};
    pi2_packet_outcome o;
    int refused, status = PI2_RUN_MORE;
    pi2_run *run;
    pi2_make_scenario(&choices, &s);
    if (show)
        pi2_print_scenario(&s);
    run = pi2_run_new(&s.problem, &refused);
    if (!run)
        fail(&s);
    for (int i = 0; i < MOST_EVENTS / PART && status == PI2_RUN_MORE; i++) {
        status = pi2_run_advance(run, PART);
        if (!pi2_check_inside(run))
            fail(&s);
    }
    pi2_run_outcome(run, &o);
    if (status == PI2_RUN_NO_MEMORY || !pi2_check_outcome(&s, &o, status == PI2_RUN_DONE) || !pi2_check_trace(&s, run))
        fail(&s);
    pi2_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t none[1];
    run_bytes(size ? bytes : none, size, 0);
    return 0;
}

#ifndef PI2_LIBFUZZER

/* An input: what came before, with some bytes changed, cut off, or taken from another. */
typedef struct {
    uint8_t bytes[MOST_BYTES];
    size_t size;
} input;

static uint64_t drawn;

static size_t below(size_t n)
{
    return (size_t)pi2_random_below(1, drawn++, n);
}

static void mutate(input *pool, input *new)
{
    const input *other = pool + below(POOL);
    *new = pool[below(POOL)];
    for (size_t n = 1 + below(8); n > 0; n--) {
        const size_t at = below(MOST_BYTES), length = 1 + below(16);
        switch (below(4)) {
        case 0:
            new->bytes[at] = (uint8_t)below(256);
            break;
        case 1:
            new->bytes[at] ^= (uint8_t)(1u << below(8));
            break;
        case 2:
            new->size = at;
            break;
        default:
            if (at + length <= MOST_BYTES)
                memcpy(new->bytes + at, other->bytes + at, length);
        }
        if (new->size < at)
            new->size = at;
    }
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int show(const char *name)
{
    static uint8_t bytes[MOST_BYTES];
    FILE *file = fopen(name, "rb");
    if (!file) {
        printf("%s cannot be read\n", name);
        return 1;
    }
    run_bytes(bytes, fread(bytes, 1, sizeof bytes, file), 1);
    fclose(file);
    return 0;
}

/* What failed, for `show`. */
static void keep(const input *new)
{
    FILE *file = fopen("packet_fuzz.last", "wb");
    if (file) {
        fwrite(new->bytes, 1, new->size, file);
        fclose(file);
    }
}

int main(int count, char **arguments)
{
    static input pool[POOL], new;
    const double seconds = count > 1 ? strtod(arguments[1], NULL) : 5.0, end = seconds_now() + seconds;
    long executions = 0;
    if (count > 2 && !strcmp(arguments[1], "show"))
        return show(arguments[2]);
    for (int i = 0; i < POOL; i++) {
        pool[i].size = MOST_BYTES;
        for (size_t at = 0; at < MOST_BYTES; at++)
            pool[i].bytes[at] = (uint8_t)below(256);
    }
    for (; seconds_now() < end; executions++) {
        mutate(pool, &new);
        keep(&new);
        LLVMFuzzerTestOneInput(new.bytes, new.size);
        if (below(4) == 0)
            pool[below(POOL)] = new;
    }
    remove("packet_fuzz.last");
    printf("%ld executions in %g s\n", executions, seconds);
    return 0;
}

#endif
