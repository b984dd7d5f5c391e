/* Trajectories of many runs: blocks of them to the vector code of this machine. */
#include "lanes/lanes.h"

#include <string.h>

#include "lanes/block.h"
#include "lanes/row.h"
#include "margins/closed/margins.h"

PI2_LANES_BLOCK_FUNCTION(baseline);
#ifdef PI2_HAVE_AVX2
PI2_LANES_BLOCK_FUNCTION(avx2);
#endif
#ifdef PI2_HAVE_AVX512
PI2_LANES_BLOCK_FUNCTION(avx512);
#endif

size_t pi2_lanes_work(const pi2_lanes_problem *p, size_t depth)
{
    return pi2_lanes_past(p, depth) + p->kept * PI2_LANES + pi2_lanes_size_baseline() / sizeof(double) + 1;
}

static pi2_lanes_block_function *block_at(int simd)
{
    const char *name = pi2_simd_name(simd);
#ifdef PI2_HAVE_AVX512
    if (name && strcmp(name, "avx512") == 0)
        return pi2_lanes_block_avx512;
#endif
#ifdef PI2_HAVE_AVX2
    if (name && strcmp(name, "baseline") != 0)
        return pi2_lanes_block_avx2;
#endif
    (void)name;
    return pi2_lanes_block_baseline;
}

void pi2_lanes(int simd, const pi2_lanes_problem *p, size_t depth, double *work, pi2_lanes_result result)
{
    pi2_lanes_block_function *const block = block_at(simd);
    for (size_t begin = 0; begin < p->runs; begin += PI2_LANES)
        block(p, begin, depth, work, result);
}
