/* Kutta's three-eighths rule: a step that may still be rejected. The slope at its end is the next step's first, and the
 * cubic's end slope. Delays may be shorter than a step: the time over a hop, or a queue that
 * has just begun to grow. Then what is read is the step in the making, at first as it was foreseen, and the step is
 * taken again until what it has read of itself is what has come out.
 *
 * How long a step may be that adapts, two estimates say: the difference of the rule's result from one of order 3, and how
 * far the step's cubics, which others read, are from the equations where these are asked once more.
 */
#include "fluid/routes/trial.h"

#include <string.h>

#include "fluid/routes/lean.h"
#include "fluid/routes/readers.h"
#include "fluid/routes/slopes.h"
#include "fluid/step.h"

enum { MOST_PASSES = 8 };
#define AGREED 0.3    /* of the tolerance: what the step may have misread of itself */
#define ENOUGH 1e-13  /* instead, when steps do not adapt */
/* Parts of both estimates. Each vanishes now and then, where the other does not; by these the errors of all trajectories
 * that were measured are a few times the tolerance. */
#define BY_ENDS 0.5
#define BY_DEFECT 0.6

/* What moves are the components before `integrated`, and those from `stored` on. */
static inline int next_moving(const pi2_routes *run, int j)
{
    return j + 1 == run->integrated ? run->stored : j + 1;
}

static double *provisional_cubics(pi2_routes *run)
{
    const size_t slot = past_slot(&run->past, run->past.length);
    run->past.start[slot] = run->now->t;
    run->past.mode[slot] = (uint32_t)(run->past.mode_count - 1);
    return run->past.cubics + slot * 4 * (size_t)run->stored;
}

static double allowed(const pi2_routes *run)
{
    return run->tolerance > 0.0 ? AGREED * run->tolerance : ENOUGH;
}

/* What makes the error of a rate, times a time, or of what has entered relative: the queue that it fills. */
static double scale_of(const pi2_routes *run, const double *y, int j)
{
    return fabs(y[run->fills[j]]) + run->weights[run->fills[j]];
}

/* How much it matters in a step of length h that component j is off by so much. */
static double part_of(const pi2_routes *run, const double *y, int j, double off, double h)
{
    return j >= run->integrated      ? h * off / scale_of(run, y, j)
           : run->weights[j] > 0.0 ? off / (fabs(y[j]) + run->weights[j])
                                     : off / scale_of(run, y, j);
}

/* Bends of the step before that are too small to matter are what its own iteration has left, and would grow if they were
 * carried on. */
void routes_foresee(pi2_routes *run)
{
    const int n = run->stored;
    double *c = provisional_cubics(run);
    memcpy(c, run->now->y, (size_t)n * sizeof *c);
    memcpy(c + n, run->now->f, (size_t)n * sizeof *c);
    memset(c + 2 * n, 0, 2 * (size_t)n * sizeof *c);
    if (run->smooth) {
        const size_t before = run->past.length - 1;
        const double *b = past_cubics(&run->past, before), least = allowed(run);
        const double h = run->now->t - run->past.start[past_slot(&run->past, before)];
        for (int j = 0; j < n; j++) {
            const double half = b[2 * n + j] + 3.0 * h * b[3 * n + j], sixth = b[3 * n + j];
            if (part_of(run, c, j, fabs(half + sixth * h) * h * h, h) > least) {
                c[2 * n + j] = half;
                c[3 * n + j] = sixth;
            }
        }
    }
}

/* What has been found is what is read from now on. */
static void see(pi2_routes *run)
{
    memcpy(run->foreseen, past_cubics(&run->past, run->past.length), 4 * (size_t)run->stored * sizeof(double));
    past_append(&run->past, run->now->t, run->trial->t, run->now->y, run->now->f, run->trial->y, run->trial->f);
    run->past.length--;
}

/* How far what has been read of a step of length h is from what has been found, as a part of what is allowed. */
static double misread(const pi2_routes *run, double h)
{
    const double *found = past_cubics(&run->past, run->past.length);
    double worst = 0.0;
    for (int k = 0; k < run->reader_count; k++) {
        const routes_reader *r = run->readers + k;
        const double s = r->ahead < h ? r->ahead : h;
        for (int i = 0; s >= 0.0 && i < r->read_count; i++) {
            const int j = r->reads[i];
            const double off = past_value(found, run->stored, j, s) - past_value(run->foreseen, run->stored, j, s);
            const double part = part_of(run, run->trial->y, j, fabs(off), h);
            worst = part > worst ? part : worst;
        }
    }
    return worst / allowed(run);
}

/* The error of the integrated part in units of the tolerance: of a method of order 3. */
static double error_of(const pi2_routes *run, double h)
{
    double worst = 0.0;
    for (int j = 0; j < run->integrated; j++)
        if (run->weights[j] > 0.0) {
            const double off = step_off(run->now->f[j], run->k2[j], run->k3[j], run->k4[j], run->trial->f[j]);
            const double part = fabs(off) / (fabs(run->trial->y[j]) + run->weights[j]);
            worst = part > worst ? part : worst;
        }
    return h * run->per_tolerance * worst;
}

/* How far the cubics of the step are from the equations at a quarter of it, where neither end and no stage looks, in
 * units of the tolerance: slopes of what is integrated, and rates that others read or that come from the past, in packets
 * of a queue that they fill. What the step's end is off by enters with a weight of 9/8, and so does, with its jump, a kink
 * that nobody has marked. */
static double defect_of(pi2_routes *run, double h)
{
    const double *y0 = run->now->y, *f0 = run->now->f, *y1 = run->trial->y, *f1 = run->trial->f;
    const double at = 0.25, b = 1.0 - at, w1 = at * at * (3.0 - 2.0 * at), v0 = at * b * b * h, v1 = -at * at * b * h;
    const double slope = 6.0 * at * b / h, s0 = b * (1.0 - 3.0 * at), s1 = at * (3.0 * at - 2.0);
    routes_point quarter = run->scratch;
    double worst = 0.0;
    quarter.t = run->now->t + at * h;
    for (int j = 0; j < run->integrated; j++)
        quarter.y[j] = y0[j] + w1 * (y1[j] - y0[j]) + v0 * f0[j] + v1 * f1[j];
    routes_slopes(run, &quarter, WITH_RATES);
    for (int j = 0; j < run->stored; j++) {
        double part;
        if (j < run->integrated && run->weights[j] > 0.0) {
            const double cubic = slope * (y1[j] - y0[j]) + s0 * f0[j] + s1 * f1[j];
            part = fabs(cubic - quarter.f[j]) / (fabs(y1[j]) + run->weights[j]);
        } else if (j >= run->integrated && run->delayed[j]) {
            const double cubic = y0[j] + w1 * (y1[j] - y0[j]) + v0 * f0[j] + v1 * f1[j];
            part = fabs(cubic - quarter.y[j]) / scale_of(run, y1, j);
        } else
            continue;
        worst = part > worst ? part : worst;
    }
    return h * worst / run->tolerance;
}

/* A step of length h to `end`, in any case. */
static void pass_any(pi2_routes *run, double h, double end)
{
    const double t = run->now->t, *y = run->now->y, *k1 = run->now->f;
    routes_point stage = run->scratch;
    stage.y = run->middle;
    stage.t = t + STEP_THIRD * h;
    stage.f = run->k2;
    for (int j = 0; j < run->size; j = next_moving(run, j))
        run->middle[j] = step_stage_2(h, y[j], k1[j]);
    routes_slopes(run, &stage, WHAT_MOVES);
    stage.t = t + 2.0 * STEP_THIRD * h;
    stage.f = run->k3;
    for (int j = 0; j < run->size; j = next_moving(run, j))
        run->middle[j] = step_stage_3(h, y[j], k1[j], run->k2[j]);
    routes_slopes(run, &stage, WHAT_MOVES);
    stage.t = end;
    stage.f = run->k4;
    for (int j = 0; j < run->size; j = next_moving(run, j))
        run->middle[j] = step_stage_4(h, y[j], k1[j], run->k2[j], run->k3[j]);
    routes_slopes(run, &stage, WHAT_MOVES);
    for (int j = 0; j < run->size; j = next_moving(run, j))
        run->trial->y[j] = step_result(h, y[j], k1[j], run->k2[j], run->k3[j], run->k4[j]);
    run->trial->t = end;
    routes_slopes(run, run->trial, WITH_THEIR_SLOPES);
}

/* A step of length h to `end`. */
static void pass(pi2_routes *run, double h, double end)
{
    if (run->lean.is_on)
        routes_lean_try(run, h, end);
    else
        pass_any(run, h, end);
}

/* How far a step of length h has been read by those who look back. */
static void note_depths(pi2_routes *run, double h)
{
    for (routes_reader *r = run->readers; r < run->readers + run->reader_count; r++) {
        const double now = run->now->tau[0], then = run->trial->tau[0];
        const double s = h - (r->delay + (now < then ? now : then));
        if (r->used && s >= 0.0) {
            run->overlapped = 1;
            r->ahead = s;
        }
    }
}

/* Takes a step until it has read of itself what comes out; returns whether it has. */
static int settle(pi2_routes *run, double h, double end)
{
    for (int n = 0; n < MOST_PASSES; n++) {
        run->overlapped = 0;
        for (int r = 0; r < run->reader_count; r++)
            run->readers[r].ahead = -1.0;
        pass(run, h, end);
        if (run->lean.is_on)
            note_depths(run, h);
        if (!run->overlapped || !(h > 0.0))
            return 1;
        see(run);
        if (misread(run, h) <= 1.0) {
            routes_all_slopes(run, run->trial); /* the next step goes on with the slopes at the end */
            return 1;
        }
    }
    return 0;
}

void routes_try(pi2_routes *run, double h)
{
    const double end = step_end(run->now->t, h, run->next);
    int settled = 1;
    h = end - run->now->t;
    run->provisional = 1;
    run->reach = 2.0 * h;
    if (run->at_once)
        routes_make_readable(run, !(run->nearest > h));
    if (run->readable) {
        routes_foresee(run);
        settled = settle(run, h, end);
    } else
        pass(run, h, end);
    if (!run->lean.is_on)
        run->error = error_of(run, h);
    if (run->tolerance > 0.0 && h > 0.0) {
        if (!run->at_once) {
            const double by_ends = BY_ENDS * run->error, by_defect = BY_DEFECT * defect_of(run, h);
            run->error = by_ends > by_defect ? by_ends : by_defect;
        }
        if (!settled)
            run->error = run->error > 2.0 ? run->error : 2.0;
    }
    run->provisional = 0;
}
