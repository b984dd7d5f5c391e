/* What a scenario says about each class. */
#include "packet/run/scenario.h"

/* What the class is told before it begins counts from its beginning on. */
uint64_t pi2_class_steps(const pi2_packet_scenario *s, int i, pi2_class_step *to, int *steps)
{
    const pi2_packet_class *spec = s->classes + i;
    uint32_t count = spec->count;
    uint64_t most;
    int j = 0, n = 0;
    for (; j < s->change_count && s->changes[j].at <= spec->start; j++)
        if (s->counts[j * s->class_count + i] >= 0)
            count = (uint32_t)s->counts[j * s->class_count + i];
    to[n++] = (pi2_class_step){spec->start, count};
    most = count;
    for (; j < s->change_count; j++) {
        const int64_t new = s->counts[j * s->class_count + i];
        if (new < 0 || s->changes[j].at >= spec->stop)
            continue;
        to[n++] = (pi2_class_step){s->changes[j].at, (uint32_t)new};
        if (new > count)
            most += (uint64_t)new - count;
        count = (uint32_t)new;
    }
    if (spec->stop != PI2_NEVER)
        to[n++] = (pi2_class_step){spec->stop, 0};
    *steps = n;
    return most;
}
