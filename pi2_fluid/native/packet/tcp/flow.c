/* A flow's memory: rings that double when they are full. */
#include "packet/tcp/flow.h"

#include <stdlib.h>

/* A ring of twice the size, its items from `first` on in their new places; NULL if there is no memory. */
static void *doubled(const void *ring, uint32_t *mask, uint32_t first, uint32_t count, size_t item)
{
    const uint32_t size = ring ? *mask + 1 : 8;
    const uint32_t twice = 2 * size;
    unsigned char *new = twice > size ? malloc(twice * item) : NULL;
    if (!new)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *from = (const unsigned char *)ring + ((first + i) & *mask) * item;
        unsigned char *to = new + ((first + i) & (twice - 1)) * item;
        for (size_t byte = 0; byte < item; byte++)
            to[byte] = from[byte];
    }
    *mask = twice - 1;
    return new;
}

int pi2_board_grow(pi2_flow *f)
{
    uint64_t *new = doubled(f->board, &f->board_mask, f->window.una, pi2_outstanding(f), sizeof *new);
    if (!new)
        return 0;
    if (f->board != f->first_board)
        free(f->board);
    f->board = new;
    return 1;
}

int pi2_log_grow(pi2_flow *f)
{
    const uint32_t count = f->log_written - f->log_read;
    uint32_t *new = doubled(f->log, &f->log_mask, f->log_read, count, sizeof *new);
    if (!new)
        return 0;
    free(f->log);
    f->log = new;
    return 1;
}

int pi2_again_grow(pi2_flow *f)
{
    pi2_retransmission *new = doubled(f->again, &f->again_mask, f->again_head, f->again_count, sizeof *new);
    if (!new)
        return 0;
    free(f->again);
    f->again = new;
    return 1;
}

void pi2_flow_free(pi2_flow *f)
{
    if (f->board != f->first_board)
        free(f->board);
    free(f->log);
    free(f->again);
    f->board = NULL;
    f->log = NULL;
    f->again = NULL;
}
