#include "fluid/acks/past.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

int acks_past_create(acks_past *past, size_t width)
{
    past->width = width;
    past->slots = FIRST_SLOTS;
    past->oldest = 0;
    past->newest = 0;
    past->rows = calloc(past->slots * width, sizeof *past->rows);
    return past->rows != NULL;
}

static int double_slots(acks_past *past)
{
    acks_past larger = *past;
    larger.slots = 2 * past->slots;
    larger.rows = malloc(larger.slots * past->width * sizeof *larger.rows);
    if (!larger.rows)
        return 0;
    for (size_t node = past->oldest; node <= past->newest; node++)
        memcpy(acks_row(&larger, node), acks_row(past, node), past->width * sizeof *past->rows);
    free(past->rows);
    *past = larger;
    return 1;
}

int acks_past_make_room(acks_past *past)
{
    return 2 * (past->newest + 2 - past->oldest) <= past->slots || double_slots(past);
}

void acks_past_destroy(acks_past *past)
{
    free(past->rows);
}
