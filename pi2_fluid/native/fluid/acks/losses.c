#include "fluid/acks/losses.h"

/* Until now all were there; `columns` are those from one on. */
static void copy_counts(const acks_passage *passage, double *columns, size_t from)
{
    columns[passage->fed_real - from] = columns[passage->fed - from];
    columns[passage->real - from] = columns[passage->came - from];
    columns[passage->out_real - from] = columns[passage->passed - from];
}

void acks_begin_losses(pi2_acks *run)
{
    const acks_past *past = &run->past;
    run->lossy = 1;
    for (int i = 0; i < run->class_count; i++) {
        const acks_source *source = run->sources + i;
        for (int j = 0; j < source->length; j++) {
            const acks_passage *passage = run->passages + source->first + j;
            for (double *row = past->rows + past->oldest; row <= acks_newest(past); row += past->width)
                copy_counts(passage, row, 0);
            copy_counts(passage, source->resting, source->column);
        }
    }
}
