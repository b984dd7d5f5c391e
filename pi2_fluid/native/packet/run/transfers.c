/* Transfers. The k-th of a source has two numbers of the source's stream, behind that which says when it starts: its
 * size, and the time from it to the next. Where transfers arrive, both are of the stream of the class's first flow. */
#include "packet/run/transfers.h"

#include <stdlib.h>
#include <string.h>

#include "packet/core/random.h"
#include "packet/run/streams.h"

enum { FIRST_ROOM = 64, SIZE = 1, WAIT = 2, DRAWS = 2 };

int pi2_transfers_new(pi2_run *run)
{
    for (int i = 0; i < run->scenario.class_count; i++) {
        pi2_class *class_ = run->classes + i;
        pi2_sizes *sizes = &run->specs[i].sizes;
        if (!pi2_has_transfers(class_))
            continue;
        class_->sizes = malloc(sizes->count * sizeof *class_->sizes);
        class_->free = malloc(((size_t)class_->most + 1) * sizeof *class_->free);
        if (!class_->sizes || !class_->free)
            return 0;
        memcpy(class_->sizes, sizes->numbers, sizes->count * sizeof *class_->sizes);
        sizes->numbers = class_->sizes;
    }
    return 1;
}

void pi2_transfers_free(pi2_run *run)
{
    for (int i = 0; run->classes && i < run->scenario.class_count; i++) {
        free(run->classes[i].sizes);
        free(run->classes[i].free);
    }
    free(run->transfers);
}

static uint64_t draw(const pi2_run *run, uint32_t flow, uint64_t transfer, uint64_t which)
{
    const uint64_t key = pi2_stream_key(run->scenario.seed, PI2_STREAM_FLOWS + (uint64_t)flow);
    return pi2_random(key, DRAWS * transfer + which);
}

static int make_room(pi2_run *run)
{
    const int64_t more = run->room_for_transfers ? 2 * run->room_for_transfers : FIRST_ROOM;
    pi2_transfer *rows;
    if (run->transferred < run->room_for_transfers)
        return 1;
    rows = run->transferred < UINT32_MAX / 2 ? realloc(run->transfers, (size_t)more * sizeof *rows) : NULL;
    if (!rows)
        return 0;
    run->transfers = rows;
    run->room_for_transfers = more;
    return 1;
}

void pi2_transfer_begin(pi2_run *run, pi2_flow *f, int64_t now)
{
    const pi2_class *class_ = pi2_class_of(run, f);
    const uint32_t number = pi2_number(run, f);
    const uint64_t bits = pi2_transfers_arrive(class_) ? draw(run, class_->first, class_->arrived - 1, SIZE)
                                                       : draw(run, number, f->begun, SIZE);
    const uint32_t size = pi2_size_of(&class_->spec->sizes, bits);
    if (!make_room(run)) {
        run->no_memory = 1;
        return;
    }
    f->begun++;
    f->end = f->window.next + size;
    f->transfer = (uint32_t)run->transferred++;
    run->transfers[f->transfer] = (pi2_transfer){.begun = now, .took = PI2_UNFINISHED, .flow = number, .size = size};
}

void pi2_transfer_end(pi2_run *run, const pi2_flow *f, int64_t now)
{
    pi2_transfer *transfer = run->transfers + f->transfer;
    transfer->took = now - transfer->begun;
}

int64_t pi2_transfer_idle(const pi2_run *run, const pi2_flow *f)
{
    const pi2_class *class_ = run->classes + f->class_;
    return pi2_wait_of(class_->spec->idle, draw(run, pi2_number(run, f), f->begun - 1, WAIT));
}

int64_t pi2_transfer_gap(const pi2_run *run, const pi2_class *class_)
{
    return pi2_wait_of(class_->spec->gap, draw(run, class_->first, class_->arrived, WAIT));
}
