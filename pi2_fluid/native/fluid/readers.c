/* Where the groups read the past, all of them, and the marks that they must not read across. */
#include "fluid/readers.h"

#include "fluid/plant.h"

void fluid_mark(pi2_fluid *run, int group, int order)
{
    fluid_reader *reader = &run->groups[group].reader;
    if (!reader_mark(reader, &run->past, run->now->t, order, run->close))
        run->status = PI2_FLUID_NO_MEMORY;
    if (reader->open) /* its stretch may end here now */
        reader_stretch(reader, &run->past, run->now->t);
}

void fluid_mark_all(pi2_fluid *run)
{
    for (int g = 0; g < run->group_count; g++)
        fluid_mark(run, g, 0);
}

void fluid_seek(pi2_fluid *run)
{
    fluid_view *view = &run->scratch.view;
    fluid_observe(run, run->now->t, run->now->y, run->mode, view);
    for (int g = 0; g < run->group_count; g++)
        reader_seek(&run->groups[g].reader, run->now->t - view->rtt[g]);
}

void fluid_stretches(pi2_fluid *run)
{
    for (int g = 0; g < run->group_count; g++)
        reader_stretch(&run->groups[g].reader, &run->past, run->now->t);
}
