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

/* The kept nodes go to the beginning; there is to be room for three times as many. */
int acks_past_make_room(acks_past *past, size_t *moved)
{
    const size_t kept = past->newest + past->width - past->oldest;
    *moved = past->oldest;
    memmove(past->rows, past->rows + past->oldest, kept * sizeof *past->rows);
    past->newest -= past->oldest;
    past->oldest = 0;
    if (3 * kept > past->slots * past->width) {
        double *larger = realloc(past->rows, 2 * past->slots * past->width * sizeof *past->rows);
        if (!larger)
            return 0;
        past->rows = larger;
        past->slots *= 2;
    }
    return 1;
}

void acks_past_destroy(acks_past *past)
{
    free(past->rows);
}
