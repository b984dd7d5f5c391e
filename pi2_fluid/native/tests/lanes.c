/* Checks the lanes kernel without Python: random scenarios, in memory of exactly the size asked for.
 *
 * Every instruction set must give the same bytes, a run must not depend on the others, and nothing may leave its
 * bounds. Meant to be built with -DPI2_SANITIZE=ON. The exit status is 1 when something is wrong.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/lanes.h"
#include "lanes/prepare.h"
#include "laws/operations.h"
#include "margins/closed/margins.h"
#include "tests/chance.h"

enum { RUNS = 37, CLASSES = 3, EVENTS = 2, SAMPLES = 4, DEPTH = 64, STEPS = 400 };
enum { STATISTICS = PI2_LANES_STATISTICS + CLASSES * PI2_LANES_CLASS_STATISTICS };
enum { TRACES = SAMPLES * (PI2_LANES_TRACES + 2 * CLASSES) };

static int below(int n) { return (int)uniform(0, n); }

/* All rows of a problem, one behind the other as the lists have them. */
enum { MOST_ROWS = 64 };
static double numbers[MOST_ROWS][RUNS];
static int32_t nodes[MOST_ROWS][RUNS];

/* Lets a problem point at rows that follow one another so. */
static void point(pi2_lanes_problem *p, const double *number, const int32_t *node)
{
#define ROWS(name, rows) p->name = number, number += (size_t)(rows) * p->runs;
    PI2_LANES_NUMBERS(ROWS)
#undef ROWS
#define ROWS(name, rows) p->name = node, node += (size_t)(rows) * p->runs;
    PI2_LANES_NODES(ROWS)
#undef ROWS
}

/* Laws as tapes: 1/rtt - 0.5 x x_delayed/rtt_delayed p; the state as it is; an integrator of the delay above 20 ms, in
 * [0, 1], which is its own variable, and signals; and one less nothing, of which nothing is dropped. */
static const double TAPE_NUMBERS[] = {1.0, 0.5, 0.02, 0.1, 0.0};
static const int32_t RATE[][4] = {{PI2_TAPE_DIVIDE, 5, 3, 0}, {PI2_TAPE_MULTIPLY, 6, 0, 0}, {PI2_TAPE_MULTIPLY, 11, 1, 0},
                                  {PI2_TAPE_DIVIDE, 12, 4, 0}, {PI2_TAPE_MULTIPLY, 13, 2, 0}, {PI2_TAPE_SUBTRACT, 10, 14, 0}};
static const int32_t RATE_IS[] = {15}, FIRST[] = {0}, TWICE[] = {0, 0}, CLIPPED[] = {7};
static const int32_t UPDATE[][4] = {{PI2_TAPE_SUBTRACT, 1, 9, 0}, {PI2_TAPE_MULTIPLY, 12, 10, 0}, {PI2_TAPE_ADD, 0, 13, 0},
                                    {PI2_TAPE_MAXIMUM, 14, 11, -1}, {PI2_TAPE_MINIMUM, 15, 7, -1}};
static const int32_t FLOW[][4] = {{PI2_TAPE_SUBTRACT, 1, 9, 0}, {PI2_TAPE_ADD, 12, 6, 0}};
static const int32_t CLIP[][4] = {{PI2_TAPE_MAXIMUM, 0, 5, -1}, {PI2_TAPE_MINIMUM, 6, 1, -1}};
static const int32_t FLOW_IS[] = {13}, UPDATED[] = {16};

#define TAPE(inputs_, rows_, output_) \
    {.inputs = (inputs_), .constants = 5, .constant = TAPE_NUMBERS, .rows = (int)(sizeof(rows_) / sizeof *(rows_)), \
     .row = (rows_)[0], .outputs = (int)(sizeof(output_) / sizeof *(output_)), .output = (output_)}
#define COPY(inputs_, output_) \
    {.inputs = (inputs_), .outputs = (int)(sizeof(output_) / sizeof *(output_)), .output = (output_)}

static pi2_lanes_queue queue_of_tapes(int continuous)
{
    pi2_lanes_queue q = {.states = 1, .flows = continuous, .update = TAPE(7, UPDATE, UPDATED), .flow = TAPE(7, FLOW, FLOW_IS),
                         .saturate = TAPE(1, CLIP, CLIPPED), .controller = COPY(1, FIRST), .signals = COPY(6, TWICE),
                         .thin = COPY(1, FIRST)};
    return q;
}

/* A scenario of random laws, whose numbers differ from run to run. */
static pi2_lanes_problem draw(int continuous, int encoder, int tuning)
{
    pi2_lanes_problem p = {.runs = RUNS, .classes = CLASSES, .groups = CLASSES, .events = EVENTS, .samples = SAMPLES,
                           .continuous = continuous, .encoder = encoder, .tuning = tuning, .edges = 2,
                           .edge = {0.1, 0.01}, .factor = {0.5, 0.125}, .cap = below(2) ? 0.02 : INFINITY,
                           .boost = below(2) ? 0.02 : 0.0, .decay = below(2) ? 0.98 : 1.0, .follows = continuous};
    static const double low[] = {0.004, 0.05, 0.5, 0.01, 0.016, 1, 2, 30}, high[] = {0.008, 0.5, 5, 0.03, 0.04, 1, 2, 300};
    if (encoder == PI2_LANES_TAPED_QUEUE)
        p.queue = queue_of_tapes(continuous);
    for (int i = 0; i < CLASSES; i++)
        p.class_[i] = (pi2_lanes_class){.rate = TAPE(5, RATE, RATE_IS), .leave = COPY(1, FIRST), .reads = 3u,
                                         .law = below(4), .group = i, .scalable = below(2), .slow_start = below(2),
                                         .thinned = below(2), .states = 1};
    for (int r = 0; r < RUNS; r++) {
        int row = 0;
        for (int j = 0; j < 8; j++)
            numbers[row++][r] = uniform(low[j], high[j]);
        for (int i = 0; i < CLASSES; i++)
            numbers[row++][r] = p.class_[i].law == PI2_LANES_CBR ? 0.0 : uniform(0.008, 0.1);
        for (int i = 0; i < CLASSES; i++)
            numbers[row++][r] = p.class_[i].law == PI2_LANES_CBR ? uniform(10, 500) : uniform(0.2, 0.9);
        for (int i = 0; i < CLASSES; i++)
            numbers[row++][r] = uniform(1, 10);
        for (int i = 0; i < CLASSES; i++)
            numbers[row++][r] = below(3) ? 0.0 : uniform(1, 50);
        if (encoder == PI2_LANES_TAPED_QUEUE)
            numbers[row++][r] = 0.0;
        for (int e = 0; e <= EVENTS; e++)
            numbers[row++][r] = uniform(200, 2000);
        for (int e = 0; e < (EVENTS + 1) * CLASSES; e++)
            numbers[row++][r] = below(6);
        row = 0;
        nodes[row++][r] = 1 + below(8);
        nodes[row++][r] = below(100);
        nodes[row++][r] = STEPS - below(100);
        for (int i = 0; i < CLASSES; i++)
            nodes[row++][r] = below(2) ? 0 : below(STEPS);
        for (int i = 0; i < CLASSES; i++)
            nodes[row++][r] = below(2) ? INT32_MAX : below(STEPS);
        for (int e = 0; e < EVENTS; e++)
            nodes[row++][r] = 50 + 100 * e + below(100);
        for (int s = 0; s < SAMPLES; s++)
            nodes[row++][r] = 70 * s + below(70);
    }
    point(&p, numbers[0], nodes[0]);
    pi2_lanes_prepare(&p);
    return p;
}

typedef struct { double statistics[STATISTICS][RUNS], traces[TRACES][RUNS]; } results;

static void run(int simd, const pi2_lanes_problem *p, results *r)
{
    double *work = aligned_alloc(64, (pi2_lanes_work(p, DEPTH) * sizeof(double) + 63) / 64 * 64);
    if (!work)
        exit(2);
    memset(r, 0, sizeof *r);
    pi2_lanes(simd, p, DEPTH, work, (pi2_lanes_result){r->statistics[0], r->traces[0]});
    free(work);
}

/* What no run may leave, whatever its past was cut to. */
static int wrong(const pi2_lanes_problem *p, const results *r)
{
    int bad = 0;
    for (int j = 0; j < RUNS; j++) {
        const double buffer = p->buffer[j];
        for (int s = 0; s < SAMPLES; s++) {
            const double queue = r->traces[s * (PI2_LANES_TRACES + 2 * CLASSES) + PI2_LANES_TRACE_QUEUE][j];
            bad |= !(queue >= 0.0 && queue <= buffer);
        }
        bad |= !(r->statistics[PI2_LANES_CONTROLLER_MIN][j] >= 0.0 && r->statistics[PI2_LANES_CONTROLLER_MAX][j] <= 1.0);
        /* what is served is the capacity less what was idle: rounding may leave a little less than nothing */
        bad |= !(r->statistics[PI2_LANES_SERVED][j] >= -1e-9 && isfinite(r->statistics[PI2_LANES_DELAY_SQUARE][j]));
    }
    return bad;
}

/* The same runs one by one. */
static int depends(const pi2_lanes_problem *p, const results *all)
{
    static double own_numbers[MOST_ROWS], own_statistics[STATISTICS], own_traces[TRACES];
    static int32_t own_nodes[MOST_ROWS];
    int bad = 0;
    for (int j = 0; j < RUNS; j += 9) {
        for (int i = 0; i < MOST_ROWS; i++)
            own_numbers[i] = numbers[i][j];
        for (int i = 0; i < MOST_ROWS; i++)
            own_nodes[i] = nodes[i][j];
        pi2_lanes_problem one = *p;
        one.runs = 1;
        point(&one, own_numbers, own_nodes);
        double *work = aligned_alloc(64, (pi2_lanes_work(&one, DEPTH) * sizeof(double) + 63) / 64 * 64);
        if (!work)
            exit(2);
        pi2_lanes(0, &one, DEPTH, work, (pi2_lanes_result){own_statistics, own_traces});
        free(work);
        for (int i = 0; i < STATISTICS; i++)
            bad |= memcmp(&own_statistics[i], &all->statistics[i][j], sizeof(double)) != 0;
        for (int i = 0; i < TRACES; i++)
            bad |= memcmp(&own_traces[i], &all->traces[i][j], sizeof(double)) != 0;
    }
    return bad;
}

int main(void)
{
    static results first, other;
    int bad = 0, count = 0;
    for (int repeat = 0; repeat < 4; repeat++)
        for (int kind = 0; kind < 20; kind++, count++) {
            const int taped = kind >= 18; /* what tunes the gains of PI is not asked then */
            const pi2_lanes_problem p = draw(kind % 2, taped ? PI2_LANES_TAPED_QUEUE : kind / 2 % 3, taped ? 0 : kind / 6);
            run(0, &p, &first);
            const int one = wrong(&p, &first) | depends(&p, &first);
            int differ = 0;
            for (int simd = 1; pi2_simd_name(simd); simd++) {
                run(simd, &p, &other);
                differ |= memcmp(&first, &other, sizeof first) != 0;
            }
            if (one || differ)
                printf("scenario %d: %s%s\n", count, one ? "out of bounds, or depends on its neighbours " : "",
                       differ ? "differs between instruction sets" : "");
            bad |= one | differ;
        }
    printf("%d scenarios of %d runs: %s\n", count, RUNS, bad ? "FAILED" : "passed");
    return bad;
}
