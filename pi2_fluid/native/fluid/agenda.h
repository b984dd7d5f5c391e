/* What happens when, whatever the state: changes of load and capacity, and classes that start and stop. */
#pragma once

#include "fluid/run.h"

void agenda_add(fluid_agenda *agenda, double at, int kind, int index, double value);
/* A change of the capacity of a node and of the counts of classes; NaN: it stays as it is. */
void agenda_add_change(fluid_agenda *agenda, double at, int node, double capacity, const double *counts, int classes);
/* When class i starts and stops. */
void agenda_add_class(fluid_agenda *agenda, int i, const pi2_fluid_class *flows);

/* The instant of the next happening, if that is before `end`. */
static inline double agenda_next(const fluid_agenda *agenda, double end)
{
    return agenda->next < agenda->count && agenda->items[agenda->next].at < end ? agenda->items[agenda->next].at : end;
}

static inline int agenda_due(const fluid_agenda *agenda, double now)
{
    return agenda->next < agenda->count && agenda->items[agenda->next].at <= now + SAME;
}

/* What a happening that is not of a capacity does to its class. */
void agenda_change_share(fluid_share *share, const fluid_happening *item);
