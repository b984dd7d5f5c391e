#include "fluid/acks/past.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

int acks_past_create(acks_past *past, size_t width)
{
    past->width = width;
    past->slots = FIRST_SLOTS;
    past->oldest = 0;
    past->newest = 0;
    past->rows = calloc(past->slots * width, sizeof *past->rows);
    return past->rows != NULL;
}

size_t acks_past_compact(acks_past *past)
{
    const size_t moved = past->oldest, kept = past->newest + past->width - past->oldest;
    memmove(past->rows, past->rows + past->oldest, kept * sizeof *past->rows);
    past->newest -= moved;
    past->oldest = 0;
    return moved;
}

int acks_past_is_crowded(const acks_past *past)
{
    return 3 * (past->newest + past->width) > past->slots * past->width;
}

int acks_past_grow(acks_past *past)
{
    double *larger = realloc(past->rows, 2 * past->slots * past->width * sizeof *past->rows);
    if (!larger)
        return 0;
    past->rows = larger;
    past->slots *= 2;
    return 1;
}

void acks_past_destroy(acks_past *past)
{
    free(past->rows);
}
