/* Beginning, going on and ending. */
#include "fluid/acks/acks.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/acks/beginning.h"
#include "fluid/acks/instants.h"
#include "fluid/acks/report.h"
#include "fluid/acks/rests.h"
#include "fluid/acks/steps.h"

static void count_places(pi2_acks *run, const pi2_acks_problem *problem)
{
    run->end = problem->duration;
    run->step = problem->step;
    run->most_steps = problem->most_steps;
    run->most_bytes = problem->most_bytes;
    run->class_count = problem->class_count;
    run->link_count = problem->node_count;
    run->change_count = problem->change_count;
    for (int i = 0; i < problem->class_count; i++)
        run->passage_count += problem->classes[i].length;
    for (int k = 0; k < problem->node_count; k++)
        run->line_count += problem->nodes[k].aqm->bands;
}

/* Space for `count` elements of `size` bytes, at least one; the first of them as they are there. */
static void *copy(const void *from, size_t count, size_t size)
{
    void *to = calloc(count + 1, size);
    if (to && from && count)
        memcpy(to, from, count * size);
    return to;
}

/* Returns 0 when there is no memory. */
static int allocate(pi2_acks *run, const pi2_acks_problem *problem)
{
    const size_t classes = (size_t)run->class_count, passages = (size_t)run->passage_count;
    const size_t links = (size_t)run->link_count;
    run->sources = copy(NULL, classes, sizeof *run->sources);
    run->passages = copy(NULL, passages, sizeof *run->passages);
    run->members = copy(NULL, passages, sizeof *run->members);
    run->active = copy(NULL, passages, sizeof *run->active);
    run->lines = copy(NULL, (size_t)run->line_count, sizeof *run->lines);
    run->links = copy(NULL, links, sizeof *run->links);
    run->lags = copy(NULL, 2 * classes + passages, sizeof *run->lags);
    run->order = copy(problem->order, classes + links, sizeof *run->order);
    run->asked = copy(NULL, classes + links, sizeof *run->asked);
    run->p = copy(NULL, passages, sizeof *run->p);
    run->p_after = copy(NULL, passages, sizeof *run->p);
    run->p_before = copy(NULL, passages, sizeof *run->p);
    run->changes = copy(problem->changes, (size_t)run->change_count, sizeof *run->changes);
    if (!(run->sources && run->passages && run->members && run->active && run->lines && run->links && run->lags
          && run->order && run->asked && run->p && run->p_after && run->p_before && run->changes))
        return 0;
    for (size_t k = 0; k < links; k++) {
        run->links[k].pushes =
            copy(problem->nodes[k].pushes, problem->nodes[k].push_count, sizeof *run->links[k].pushes);
        if (!run->links[k].pushes)
            return 0;
    }
    return 1;
}

pi2_acks *pi2_acks_create(const pi2_acks_problem *problem)
{
    pi2_acks *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    count_places(run, problem);
    if (!allocate(run, problem) || !acks_begin(run, problem) || !acks_collect(run)) {
        pi2_acks_destroy(run);
        return NULL;
    }
    acks_look_ahead(run);
    acks_choose_phases(run, 0.0);
    return run;
}

void pi2_acks_destroy(pi2_acks *run)
{
    if (!run)
        return;
    acks_past_destroy(&run->past);
    for (int k = 0; run->links && k < run->link_count; k++)
        free(run->links[k].pushes);
    free(run->sources);
    free(run->passages);
    free(run->members);
    free(run->active);
    free(run->lines);
    free(run->links);
    free(run->lags);
    free(run->order);
    free(run->asked);
    free(run->p);
    free(run->p_after);
    free(run->p_before);
    free(run->changes);
    free(run->others);
    free(run->kept);
    free(run);
}

/* Fills what can be said of the time up to the newest node. */
static size_t report(const pi2_acks *run, const double *samples, size_t n, size_t i, pi2_routes_rows rows)
{
    for (; i < n && samples[i] + SAME < run->t; i++)
        acks_report(run, samples[i], 0, i, rows);
    for (; i < n && samples[i] <= run->t + SAME; i++)
        acks_report(run, samples[i], 1, i, rows);
    return i;
}

int pi2_acks_advance(pi2_acks *run, const double *samples, size_t n, size_t *place, pi2_routes_rows rows,
                     long long most_steps)
{
    size_t i = *place;
    while (!run->status) {
        if (i < n && samples[i] <= run->t + SAME)
            *place = i = report(run, samples, n, i, rows);
        if (i == n)
            return PI2_FLUID_DONE;
        if (!isfinite(run->next))
            return run->status = PI2_FLUID_STUCK;
        if (most_steps-- <= 0)
            return PI2_FLUID_MORE;
        acks_step(run);
        if (!run->status && run->next - run->t <= SAME) {
            acks_happen(run);
            acks_look_ahead(run);
            acks_choose_phases(run, run->t);
        }
    }
    return run->status;
}

double pi2_acks_time(const pi2_acks *run)
{
    return run->t;
}

long long pi2_acks_steps(const pi2_acks *run)
{
    return run->taken;
}

size_t pi2_acks_kept(const pi2_acks *run)
{
    return (run->past.newest - run->past.oldest) / run->past.width + 1;
}

static double acked(const pi2_acks *run, const acks_source *source)
{
    size_t cursor = run->past.oldest;
    if (source->steady)
        return 0.0;
    return acks_at(acks_find_time(&run->past, &cursor, run->t - run->lags[source->back_ago].time,
                                  acks_before(&run->past)),
                   source->passed);
}

void pi2_acks_count(pi2_acks *run, pi2_acks_counts counts)
{
    const double *row = acks_newest(&run->past);
    for (int i = 0; i < run->class_count; i++) {
        acks_catch_up(run->sources + i, &run->past);
        counts.sent[i] = row[run->sources[i].column + SENT];
        counts.acked[i] = acked(run, run->sources + i);
    }
    for (int k = 0; k < run->line_count; k++) {
        counts.arrived[k] = row[run->lines[k].column + ARRIVED];
        counts.lost[k] = 0.0;
    }
    for (int i = 0; i < run->passage_count; i++) {
        const acks_passage *passage = run->passages + i;
        counts.came[i] = row[passage->came];
        counts.left[i] = row[passage->passed];
        if (run->lossy)
            counts.lost[passage->line] += row[passage->came] - row[passage->real];
    }
}
