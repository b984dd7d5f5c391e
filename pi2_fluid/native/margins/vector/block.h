/* Inside the margin kernel: blocks of points as structures of arrays. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "margins/aliases/ack_class.h"
#include "margins/aliases/design_loop.h"
#include "margins/aliases/linear_lines.h"
#include "margins/closed/sampled_lanes.h"

enum { PI2_BLOCK = 64 };

typedef struct { const double *restrict m, *restrict mu, *restrict a, *restrict c, *restrict rtt; } pi2_points;
typedef struct { double *restrict gm_db, *restrict pm_deg, *restrict w_gc, *restrict w_pc; } pi2_results;

/* Margins of PI2_BLOCK points, with at most `passes` passes beyond the two that nearly every point needs.
 * Returns 0, or 1 with left[i] = 1 for the points whose results must not be used. */
typedef uint64_t pi2_block_function(int passes, pi2_points points, pi2_results results, uint64_t *left);

typedef struct { const double *restrict gain, *restrict a, *restrict c, *restrict own, *restrict cut, *restrict delay; } pi2_ack_points;

/* The same of ack_margins.h, v in the place of w; left[i] is 1 for the points whose results must not be used, else 0. */
typedef void pi2_ack_block_function(pi2_ack_points points, pi2_results results, uint64_t *left);

/* As pi2_ack_plant_at, pi2_ack_sums_at and pi2_design_alias_sums. */
typedef int pi2_ack_at_function(const pi2_ack_plant *plant, size_t n, const double *s, double *values);
typedef int pi2_ack_sums_function(const pi2_ack_sums *sums, size_t n, const double *s, double *values);
typedef int pi2_design_sums_function(size_t loops, const pi2_design_loop *loop, double interval, size_t count, size_t n,
                                     int each, const double *w, double *sums);

#define PI2_BLOCK_FUNCTIONS(simd) \
    pi2_block_function pi2_margins_reno_##simd, pi2_margins_scalable_##simd; \
    pi2_ack_block_function pi2_ack_at_once_##simd, pi2_ack_reduced_##simd; \
    pi2_ack_at_function pi2_ack_at_##simd; \
    pi2_ack_sums_function pi2_ack_sums_##simd; \
    pi2_design_sums_function pi2_design_sums_##simd; \
    pi2_linear_sum_function pi2_linear_sum_##simd; \
    pi2_linear_at_function pi2_linear_at_##simd; \
    pi2_linear_turns_function pi2_linear_turns_##simd; \
    pi2_sampled_function pi2_sampled_reno_##simd, pi2_sampled_reno_varies_##simd; \
    pi2_sampled_function pi2_sampled_scalable_##simd, pi2_sampled_scalable_varies_##simd

/* An instruction set that this build has and this machine can run. */
typedef struct {
    const char *name;
    pi2_block_function *margins[2]; /* Reno, scalable */
    pi2_ack_block_function *ack[2]; /* cuts made at once, spread over a round trip */
    pi2_ack_at_function *ack_at;
    pi2_ack_sums_function *ack_sums;
    pi2_design_sums_function *design_sums;
    pi2_linear_sum_function *linear_sum;
    pi2_linear_at_function *linear_at;
    pi2_linear_turns_function *linear_turns;
    pi2_sampled_function *sampled[2][2]; /* Reno, scalable; round-trip times constant, varying */
} pi2_simd;

/* The fastest first; NULL past the last. */
const pi2_simd *pi2_simd_at(int level);
