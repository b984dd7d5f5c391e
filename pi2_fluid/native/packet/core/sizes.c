/* Distributions of sizes and of waiting times, each by its inverse. */
#include "packet/core/sizes.h"

#include <math.h>

#include "packet/core/limits.h"

/* Uniform on (0, 1], in steps of 2^-53: how likely something larger is. */
static double beyond(uint64_t bits)
{
    return (double)((bits >> 11) + 1) * 0x1p-53;
}

static double draw(const pi2_sizes *s, uint64_t bits)
{
    const double *of = s->numbers;
    double size;
    switch (s->kind) {
    case PI2_SIZES_EXPONENTIAL:
        return -of[0] * log(beyond(bits));
    case PI2_SIZES_PARETO:
        size = of[1] * pow(beyond(bits), -1.0 / of[0]);
        return size < of[2] ? size : of[2];
    case PI2_SIZES_EMPIRICAL:
        return of[((bits >> 32) * (uint64_t)s->count) >> 32];
    default:
        return of[0];
    }
}

uint32_t pi2_size_of(const pi2_sizes *s, uint64_t bits)
{
    const double size = ceil(draw(s, bits)), most = (double)PI2_MOST_TRANSFER;
    return size < 1.0 ? 1 : (uint32_t)(size < most ? size : most);
}

int64_t pi2_wait_of(double mean, uint64_t bits)
{
    const double ns = -mean * log(beyond(bits));
    return ns < 1.0 ? 1 : ns < 0x1p60 ? (int64_t)ns : INT64_C(1) << 60;
}
