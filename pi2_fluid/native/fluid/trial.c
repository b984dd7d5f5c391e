/* Kutta's three-eighths rule: a step that may still be rejected.
 *
 * The slope at the end is the next step's first, and the cubic's end slope.
 */
#include "fluid/trial.h"

#include "fluid/lean.h"
#include "fluid/overlap.h"
#include "fluid/slopes.h"
#include "fluid/step.h"

enum { MOST_PASSES = 4 }; /* of a step that reads itself */

/* The largest error of a component in units of the tolerance. */
static double error_of(const pi2_fluid *run, double h)
{
    double worst = 0.0;
    for (int j = 0; j < run->stored; j++) {
        const double weight = j < run->bands ? QUEUE_WEIGHT * run->mode->capacity : run->weights[j];
        if (weight > 0.0) {
            const double off = step_off(run->now->f[j], run->k2[j], run->k3[j], run->k4[j], run->trial->f[j]);
            const double part = fabs(off) / (fabs(run->trial->y[j]) + weight);
            worst = part > worst ? part : worst;
        }
    }
    return h * run->per_tolerance * worst;
}

/* A step of length h to `end`. Unless `whole`, the slopes at its end are left to fluid_complete. */
static void try_any(pi2_fluid *run, double h, double end, int whole)
{
    const double t = run->now->t, *y = run->now->y, *k1 = run->now->f;
    fluid_point stage = run->scratch;
    stage.y = run->middle;
    stage.t = t + STEP_THIRD * h;
    stage.f = run->k2;
    for (int j = 0; j < run->size; j++)
        run->middle[j] = step_stage_2(h, y[j], k1[j]);
    fluid_slopes(run, &stage);
    stage.t = t + 2.0 * STEP_THIRD * h;
    stage.f = run->k3;
    for (int j = 0; j < run->size; j++)
        run->middle[j] = step_stage_3(h, y[j], k1[j], run->k2[j]);
    fluid_slopes(run, &stage);
    stage.t = end;
    stage.f = run->k4;
    for (int j = 0; j < run->size; j++)
        run->middle[j] = step_stage_4(h, y[j], k1[j], run->k2[j], run->k3[j]);
    fluid_slopes(run, &stage);
    for (int j = 0; j < run->size; j++)
        run->trial->y[j] = step_result(h, y[j], k1[j], run->k2[j], run->k3[j], run->k4[j]);
    run->trial->t = end;
    fluid_head(run, run->trial);
    if (whole) {
        fluid_tail(run, run->trial);
        run->error = error_of(run, h);
    }
}

static void pass(pi2_fluid *run, double h, double end, int whole)
{
    if (run->kind == LEAN_KIND)
        lean_try(run, h, end, whole);
    else
        try_any(run, h, end, whole);
    run->complete = whole;
}

/* Takes a step that may read itself until it is what it has read; one that does not become so counts as too long. */
static void settle(pi2_fluid *run, double h, double end)
{
    overlap_foretell(run);
    for (int n = 0; n < MOST_PASSES; n++) {
        pass(run, h, end, 1);
        if (overlap_agrees(run, h))
            return;
    }
    run->error = run->error > 2.0 ? run->error : 2.0;
}

void fluid_try(pi2_fluid *run, double h, int whole)
{
    const double end = step_end(run->now->t, h, run->next);
    if (run->overlaps)
        settle(run, end - run->now->t, end);
    else
        pass(run, end - run->now->t, end, whole);
}

void fluid_complete(pi2_fluid *run)
{
    if (run->complete)
        return;
    if (run->kind == LEAN_KIND)
        lean_slopes(run, run->trial);
    else
        fluid_tail(run, run->trial);
    run->complete = 1;
}
