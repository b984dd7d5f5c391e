/* Margins of arrays: blocks to the vector code of this machine, the points it left to a queue. */
#include "margins/closed/margins.h"

#include <stdint.h>

#include "margins/vector/block.h"
#include "margins/closed/point.h"
#include "margins/vector/processor.h"

PI2_BLOCK_FUNCTIONS(baseline);
#ifdef PI2_HAVE_AVX2
PI2_BLOCK_FUNCTIONS(avx2);
#endif
#ifdef PI2_HAVE_AVX512
PI2_BLOCK_FUNCTIONS(avx512);
#endif

#define PI2_SIMD_OF(simd) \
    {#simd, {pi2_margins_reno_##simd, pi2_margins_scalable_##simd}, {pi2_ack_at_once_##simd, pi2_ack_reduced_##simd}, \
     pi2_ack_at_##simd, pi2_ack_sums_##simd, pi2_design_sums_##simd, \
     pi2_linear_sum_##simd, pi2_linear_at_##simd, pi2_linear_turns_##simd, \
     {{pi2_sampled_reno_##simd, pi2_sampled_reno_varies_##simd}, \
      {pi2_sampled_scalable_##simd, pi2_sampled_scalable_varies_##simd}}}

/* What processor.c asks for is what the files are compiled with, see CMakeLists.txt. */
const pi2_simd *pi2_simd_at(int level)
{
#ifdef PI2_HAVE_AVX512
    static const pi2_simd avx512 = PI2_SIMD_OF(avx512);
    if (pi2_vectors() & PI2_AVX512 && level-- == 0)
        return &avx512;
#endif
#ifdef PI2_HAVE_AVX2
    static const pi2_simd avx2 = PI2_SIMD_OF(avx2);
    if (pi2_vectors() & PI2_AVX2 && level-- == 0)
        return &avx2;
#endif
    static const pi2_simd baseline = PI2_SIMD_OF(baseline);
    return level == 0 ? &baseline : NULL;
}

const char *pi2_simd_name(int simd)
{
    const pi2_simd *found = simd < 0 ? NULL : pi2_simd_at(simd);
    return found ? found->name : NULL;
}

/* Points that need more passes, of a last incomplete block, or for the slow path, dealt with 64 at a time.
 * What is added to complete a block is a harmless point; an answer never depends on its neighbours. */
typedef struct {
    const pi2_simd *simd;
    int scalable, count;
    size_t index[PI2_BLOCK], refused;
    double in[5][PI2_BLOCK], out[4][PI2_BLOCK];
} pi2_queue;

enum { EXTRA_PASSES = 8 };

static void store(pi2_margins_output output, size_t i, double gm_db, double pm_deg, double w_gc, double w_pc)
{
    output.gm_db[i] = gm_db;
    output.pm_deg[i] = pm_deg;
    output.w_gc[i] = w_gc;
    output.w_pc[i] = w_pc;
}

static void flush(pi2_queue *q, pi2_margins_output output)
{
    const pi2_points points = {q->in[0], q->in[1], q->in[2], q->in[3], q->in[4]};
    const pi2_results results = {q->out[0], q->out[1], q->out[2], q->out[3]};
    uint64_t left[PI2_BLOCK];
    for (int k = q->count; k < PI2_BLOCK; k++)
        for (int j = 0; j < 5; j++)
            q->in[j][k] = j == 1 ? 0.125 : 1.0;
    const uint64_t any = q->simd->margins[q->scalable](EXTRA_PASSES, points, results, left);
    for (int k = 0; k < q->count; k++) {
        const size_t i = q->index[k];
        double r[4] = {q->out[0][k], q->out[1][k], q->out[2][k], q->out[3][k]};
        if (any && left[k]
            && !pi2_margins_point(q->scalable, q->in[0][k], q->in[1][k], q->in[2][k], q->in[3][k], q->in[4][k], r)) {
            q->refused = i < q->refused ? i : q->refused;
            continue;
        }
        store(output, i, r[0], r[1], r[2], r[3]);
    }
    q->count = 0;
}

static void push(pi2_queue *q, pi2_margins_input input, pi2_margins_output output, size_t i)
{
    const int k = q->count++;
    q->index[k] = i;
    q->in[0][k] = input.m[i];
    q->in[1][k] = input.mu[i];
    q->in[2][k] = input.a[i];
    q->in[3][k] = input.c[i];
    q->in[4][k] = input.rtt[i];
    if (q->count == PI2_BLOCK)
        flush(q, output);
}

size_t pi2_margins(int simd, int scalable, size_t n, pi2_margins_input input, pi2_margins_output output)
{
    pi2_queue queue = {.simd = pi2_simd_at(simd), .scalable = scalable != 0, .refused = n};
    uint64_t left[PI2_BLOCK];
    size_t i = 0;
    for (; i + PI2_BLOCK <= n; i += PI2_BLOCK) {
        const pi2_points points = {input.m + i, input.mu + i, input.a + i, input.c + i, input.rtt + i};
        const pi2_results results = {output.gm_db + i, output.pm_deg + i, output.w_gc + i, output.w_pc + i};
        if (queue.simd->margins[queue.scalable](0, points, results, left))
            for (int k = 0; k < PI2_BLOCK; k++)
                if (left[k])
                    push(&queue, input, output, i + (size_t)k);
    }
    for (; i < n; i++)
        push(&queue, input, output, i);
    if (queue.count)
        flush(&queue, output);
    return queue.refused;
}
