/* Hands out parts of one block of memory; the first round only counts. */
#pragma once

#include <stddef.h>

typedef struct {
    char *memory;
    size_t used;
} pool;

static inline void *take(pool *p, size_t n, size_t bytes)
{
    const size_t at = p->used;
    p->used += (n * bytes + 15) / 16 * 16;
    return p->memory ? p->memory + at : NULL;
}
