#include "fluid/overlap.h"

#define AGREED 0.3 /* of the tolerance: what a step may have misread of itself */

int overlap_is_allowed(const pi2_fluid *run)
{
    if (run->tolerance == 0.0 || !run->smooth)
        return 0;
    for (int k = 0; k < run->hearing_count; k++)
        if (!run->hearing[k]->reader.open) /* what it passes comes first */
            return 0;
    return 1;
}

void overlap_begin(pi2_fluid *run)
{
    run->overlaps = 1;
    for (int k = 0; k < run->hearing_count; k++) {
        fluid_reader *reader = &run->hearing[k]->reader;
        reader->last = run->past.length;
        reader->high = INFINITY;
        reader->from = reader->to = 0.0;
    }
}

void overlap_end(pi2_fluid *run)
{
    run->overlaps = 0;
    for (int k = 0; k < run->hearing_count; k++)
        run->hearing[k]->reader.from = run->hearing[k]->reader.to = 0.0;
}

void overlap_foretell(pi2_fluid *run)
{
    const int n = run->stored;
    const size_t before = run->past.length - 1, slot = past_slot(&run->past, run->past.length);
    const double *b = past_cubics(&run->past, before);
    const double h = run->now->t - run->past.start[past_slot(&run->past, before)];
    double *c = run->past.cubics + slot * 4 * (size_t)n;
    run->past.start[slot] = run->now->t;
    run->past.mode[slot] = (uint32_t)(run->past.mode_count - 1);
    for (int j = 0; j < n; j++) {
        c[j] = run->now->y[j];
        c[n + j] = run->now->f[j];
        c[2 * n + j] = b[2 * n + j] + 3.0 * h * b[3 * n + j];
        c[3 * n + j] = b[3 * n + j];
    }
}

/* How far a step of length h has read into itself (s). */
static double depth(const pi2_fluid *run, double h)
{
    double shortest = INFINITY;
    for (int k = 0; k < run->hearing_count; k++) {
        const int g = run->hearing[k]->number;
        const double at_start = run->now->view.rtt[g], at_end = run->trial->view.rtt[g];
        shortest = at_start < shortest ? at_start : shortest;
        shortest = at_end < shortest ? at_end : shortest;
    }
    return h - shortest;
}

int overlap_agrees(pi2_fluid *run, double h)
{
    const int n = run->stored;
    const double *c = past_cubics(&run->past, run->past.length), s = depth(run, h);
    double worst = 0.0;
    if (s > 0.0)
        past_values(c, n, s, run->then);
    past_append(&run->past, run->now->t, run->trial->t, run->now->y, run->now->f, run->trial->y, run->trial->f);
    run->past.length--;
    for (int j = 0; j < n && s > 0.0; j++) {
        const double weight = j < run->bands ? QUEUE_WEIGHT * run->mode->capacity : run->weights[j];
        if (weight > 0.0) {
            const double y = past_value(c, n, j, s), part = fabs(y - run->then[j]) / (fabs(y) + weight);
            worst = part > worst ? part : worst;
        }
    }
    return worst <= AGREED * run->tolerance;
}
