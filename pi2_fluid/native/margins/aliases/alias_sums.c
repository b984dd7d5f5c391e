#include "margins/aliases/alias_sums.h"

#include "margins/vector/block.h"

int pi2_design_alias_sums(size_t loops, const pi2_design_loop *loop, double interval, size_t count, size_t n, int each,
                          const double *w, double *sums)
{
    return pi2_simd_at(0)->design_sums(loops, loop, interval, count, n, each, w, sums);
}
