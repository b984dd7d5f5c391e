/* Beginning, going on and ending. */
#include "fluid/fluid.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/arrival.h"
#include "fluid/layout.h"
#include "fluid/modes.h"
#include "fluid/readers.h"
#include "fluid/report.h"
#include "fluid/schedule.h"
#include "fluid/sides.h"
#include "fluid/slopes.h"
#include "fluid/step.h"
#include "fluid/steps.h"

/* The longest that anything waits behind the bottleneck, and travels: how far back readers may look. */
static void find_lookback(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    static const int both[2] = {1, 1};
    static const double none[2] = {0.0, 0.0};
    double least = problem->capacity, rtt = 0.0, steady = 0.0, served[2] = {1.0, 1.0};
    for (int i = 0; i < problem->change_count; i++)
        if (problem->changes[i].capacity < least)
            least = problem->changes[i].capacity;
    for (int g = 0; g < run->group_count; g++)
        if (run->groups[g].base_rtt > rtt)
            rtt = run->groups[g].base_rtt;
    if (run->bands == 2)
        run->aqm->serve(run->law, both, none, 1.0, served);
    for (int i = 0; i < run->class_count; i++) {
        const fluid_class *c = run->classes + i;
        if (!c->listens)
            steady += c->most * c->law->sending_rate(c->parameters, problem->classes[i].x, 1.0);
    }
    run->flooded = steady > least;
    run->longest_path = rtt;
    run->least_capacity = least * (served[0] < served[1] ? served[0] : served[1]);
    run->lookback = 1.1 * (rtt + problem->buffer / run->least_capacity);
}

static void set_parameters(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    run->bands = problem->aqm->bands;
    run->class_count = problem->class_count;
    run->aqm = problem->aqm;
    run->law = problem->parameters;
    run->encoder = run->aqm->plain.encoder;
    run->buffer = problem->buffer;
    run->continuous = pi2_flows(run->aqm, problem->continuous, problem->update_interval);
    run->step = problem->step;
    run->tolerance = problem->tolerance;
    run->per_tolerance = 1.0 / (24.0 * step_allowance(problem->tolerance));
    run->close = 1e-3 * problem->tolerance > SAME ? 1e-3 * problem->tolerance : SAME;
    run->most_steps = problem->most_steps;
    run->interval = run->continuous ? INFINITY : problem->update_interval;
    run->end = problem->duration;
    run->tick = 1;
    run->proposal = run->step;
}

/* Returns 0 when there is no memory. */
static int copy_pushes(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    const size_t count = problem->push_count;
    run->pushes = malloc((count + 1) * sizeof *run->pushes);
    if (!run->pushes)
        return 0;
    if (count)
        memcpy(run->pushes, problem->pushes, count * sizeof *run->pushes);
    run->push_count = count;
    return 1;
}

/* The state before time 0. */
static void set_state(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    double *y = run->now->y;
    fluid_mode *mode = run->mode = past_latest_mode(&run->past);
    mode->capacity = problem->capacity;
    mode->signalling = problem->began != 0;
    for (int k = 0; k < run->bands; k++) {
        mode->bound[k] = EMPTY;
        y[k] = problem->began ? problem->queues[k] : 0.0;
        if (run->arrived >= 0)
            y[run->arrived + k] = y[k];
    }
    if (problem->began)
        memcpy(run->state, problem->state, sizeof run->state);
    for (int j = 0; j < run->moving; j++)
        y[run->controller + j] = run->state[run->moves[j]];
    for (int j = 0; j < run->size; j++)
        run->weights[j] = -1.0;
    for (int j = 0; j < run->moving; j++)
        run->weights[run->controller + j] = CONTROLLER_WEIGHT;
    for (int i = 0; i < run->class_count; i++) {
        const pi2_fluid_class *from = problem->classes + i;
        const fluid_class *c = run->classes + i;
        memcpy(y + c->x, from->x, (size_t)c->states * sizeof(double));
        for (int j = 0; j < c->states; j++)
            run->weights[c->x + j] = SENDER_WEIGHT;
        mode->of[i].count = from->count;
        mode->of[i].started = mode->of[i].active = problem->began && from->start == 0.0;
        mode->of[i].slow = from->slow_start && !mode->of[i].active;
    }
}

/* What happens at time 0. */
static void start(pi2_fluid *run, const pi2_fluid_problem *problem)
{
    run->by_numbers = 1;
    if (problem->began) {
        fluid_hold_bounds(run);
        fluid_take_queue_sides(run);
    }
    for (int g = 0; g < run->group_count; g++)
        if (!reader_mark(&run->groups[g].reader, &run->past, BEGINNING, 0, 0.0))
            run->status = PI2_FLUID_NO_MEMORY;
    past_append(&run->past, BEGINNING, 0.0, run->now->y, run->now->f, run->now->y, run->now->f);
    fluid_change_mode(run)->signalling = 1;
    if (run->status)
        return;
    fluid_schedule(run, problem);
    fluid_look_ahead(run);
    fluid_mark_all(run);
    fluid_happen(run, 0, 0);
    fluid_hold_bounds(run);
    if (run->status)
        return;
    fluid_take_queue_sides(run);
    fluid_stretches(run);
    fluid_take_rate_sides(run);
    fluid_choose_kind(run);
    fluid_slopes(run, run->now);
}

pi2_fluid *pi2_fluid_create(const pi2_fluid_problem *problem)
{
    pi2_fluid *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    set_parameters(run, problem);
    if (!copy_pushes(run, problem) || !fluid_lay_out(run, problem)) {
        pi2_fluid_destroy(run);
        return NULL;
    }
    find_lookback(run, problem);
    set_state(run, problem);
    start(run, problem);
    return run;
}

void pi2_fluid_destroy(pi2_fluid *run)
{
    if (!run)
        return;
    for (int g = 0; run->groups && g < run->group_count; g++)
        free(run->groups[g].reader.marks);
    past_destroy(&run->past);
    free(run->classes);
    free(run->groups);
    free(run->memory);
    free(run->pushes);
    free(run);
}

int pi2_fluid_advance(pi2_fluid *run, const double *samples, size_t n, size_t *place, pi2_fluid_rows rows,
                      long long most_steps)
{
    size_t i = *place;
    while (!run->status) {
        i = fluid_report_step(run, samples, i, n, rows);
        for (; i < n && samples[i] <= run->now->t + SAME; i++)
            fluid_report(run, run->now->t, 0, i, rows);
        *place = i;
        if (i == n)
            return PI2_FLUID_DONE;
        if (most_steps-- <= 0)
            return PI2_FLUID_MORE;
        fluid_step(run);
    }
    *place = i;
    return run->status;
}

double pi2_fluid_time(const pi2_fluid *run)
{
    return run->now->t;
}

long long pi2_fluid_steps(const pi2_fluid *run)
{
    return run->taken;
}
