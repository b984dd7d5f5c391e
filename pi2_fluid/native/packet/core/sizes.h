/* How large transfers are, and how long sources wait: distributions, and draws from them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* By the number after each: what `numbers` holds, all but weights in segments. */
enum {
    PI2_SIZES_ENDLESS,     /* nothing: flows send on and on */
    PI2_SIZES_FIXED,       /* the size */
    PI2_SIZES_EXPONENTIAL, /* the mean */
    PI2_SIZES_PARETO,      /* shape (no size), the least, the largest: what is beyond has that size */
    PI2_SIZES_EMPIRICAL    /* sizes, each as likely as the others */
};

typedef struct {
    int kind;
    size_t count;
    const double *numbers;
} pi2_sizes;

/* Segments of a transfer, from 64 random bits: rounded up, from 1 to PI2_MOST_TRANSFER. */
uint32_t pi2_size_of(const pi2_sizes *sizes, uint64_t bits);
/* ns, exponential with that mean, from 64 random bits: at least 1, so that what ends and what begins are two instants. */
int64_t pi2_wait_of(double mean, uint64_t bits);
