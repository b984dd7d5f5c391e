#include "fluid/agenda.h"

void agenda_add(fluid_agenda *agenda, double at, int kind, int index, double value)
{
    const fluid_happening item = {at, kind, index, value};
    int place = agenda->count++; /* in order; what comes later at one instant stays later */
    for (; place > 0 && agenda->items[place - 1].at > at; place--)
        agenda->items[place] = agenda->items[place - 1];
    agenda->items[place] = item;
}

void agenda_add_change(fluid_agenda *agenda, double at, int node, double capacity, const double *counts, int classes)
{
    if (!isnan(capacity))
        agenda_add(agenda, at, CAPACITY, node, capacity);
    for (int i = 0; i < classes; i++)
        if (!isnan(counts[i]))
            agenda_add(agenda, at, COUNT, i, counts[i]);
}

void agenda_add_class(fluid_agenda *agenda, int i, const pi2_fluid_class *flows)
{
    agenda_add(agenda, flows->start, START, i, flows->start_jitter > 0.0);
    if (flows->start_jitter > 0.0)
        agenda_add(agenda, flows->start + flows->start_jitter, END_RAMP, i, 0.0);
    if (isfinite(flows->stop))
        agenda_add(agenda, flows->stop, STOP, i, 0.0);
}

void agenda_change_share(fluid_share *share, const fluid_happening *item)
{
    switch (item->kind) {
    case COUNT:
        share->count = item->value;
        share->active = share->started && share->count > 0.0;
        break;
    case START:
        share->started = 1;
        share->active = share->count > 0.0;
        share->ramping = item->value != 0.0;
        break;
    case END_RAMP:
        share->ramping = 0;
        break;
    default:
        share->started = share->active = 0;
    }
}
