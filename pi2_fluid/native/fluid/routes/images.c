#include "fluid/routes/images.h"

#include "fluid/routes/readers.h"

int routes_find_passed(pi2_routes *run)
{
    int jumps = 0;
    for (routes_reader *r = run->readers; r < run->readers + run->reader_count; r++) {
        r->order = -1;
        if (r->used && r->image) {
            r->order = r->reader.marks[r->reader.place + (r->image > 0)].order;
            jumps |= r->order == 0;
        }
    }
    return jumps;
}

void routes_mark_images(pi2_routes *run, int jumps)
{
    for (routes_reader *r = run->readers; r < run->readers + run->reader_count; r++)
        if (r->order >= 0 && r->order < 2)
            routes_mark(run, r, r->order + 1);
        else if (r->order < 0 && jumps && r->used)
            routes_mark(run, r, 2);
}

void routes_move_on(pi2_routes *run)
{
    for (int k = 0; k < run->reader_count; k++) {
        routes_reader *r = run->readers + k;
        if (!r->used || !r->image)
            continue;
        r->reader.place += (size_t)(ptrdiff_t)r->image;
        routes_stretch(run, r);
        while (r->kind == ENTRY && !r->reader.open && r->high <= r->low) {
            r->reader.place++;
            routes_stretch(run, r);
        }
    }
}
