#include "fluid/acks/links.h"

void acks_signal(const pi2_acks *run, const acks_link *link, const pi2_seen *seen, double *p)
{
    const pi2_signal signal = link->aqm->signals(link->law, link->state, seen, NULL);
    for (int k = 0; k < link->bands; k++) {
        const acks_line *line = run->lines + link->first_line + k;
        for (int j = 0; j < line->count; j++) {
            const int i = run->members[line->first + j], kind = run->passages[i].signal;
            p[i] = kind == PI2_FLUID_CLASSIC ? signal.classic : kind == PI2_FLUID_SCALABLE ? signal.scalable : 0.0;
        }
    }
}

pi2_seen acks_seen(const pi2_acks *run, const acks_link *link, const double *row, double rate)
{
    pi2_seen seen = {{0.0, 0.0}, acks_queue(run, link, row), rate, link->capacity, 0.0};
    for (int k = 0; k < link->bands; k++)
        seen.queue_delay[k] = row[run->lines[link->first_line + k].column + DELAY];
    return seen;
}

void acks_overflow(pi2_acks *run, const acks_link *link, const acks_trial *step, double over)
{
    acks_line *lines = run->lines + link->first_line;
    double came[2], late[2], sum = 0.0, part = 0.0;
    if (!run->lossy) {
        run->loses = 1;
        return;
    }
    for (int k = 0; k < link->bands; k++) {
        const double waits = lines[k].arrived - lines[k].served;
        came[k] = lines[k].arrived - step->before[lines[k].column + ARRIVED];
        late[k] = came[k] < waits ? came[k] : waits;
        sum += late[k];
    }
    if (sum > 0.0)
        part = over / sum < 1.0 ? over / sum : 1.0;
    for (int k = 0; k < link->bands; k++) {
        const double lost = came[k] > 0.0 ? part * late[k] / came[k] : 0.0;
        for (int j = 0; j < lines[k].active_count; j++)
            acks_lose(run->passages + run->active[lines[k].first + j], step, lost);
        lines[k].arrived -= part * late[k];
    }
}
