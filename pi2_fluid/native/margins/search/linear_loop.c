#include "margins/search/linear_loop.h"

#include <math.h>

#include "elementary.h"
#include "margins/search/controlling.h"
#include "margins/search/counting.h"

/* A polynomial of pi2_linear_class. */
static number in_both(const double *of, int states, number s, number e)
{
    number sum = {0.0, 0.0};
    for (int i = states; i >= 0; i--)
        sum = plus(times(sum, s), polynomial(of + i * (states + 1), states - i, e));
    return sum;
}

/* --- the parts of a loop --------------------------------------------------------------------- */

static double longest(const pi2_linear_loop *loop)
{
    double found = 0.0;
    for (size_t c = 0; c < loop->classes; c++)
        found = fmax(found, loop->cls[c].rtt);
    return found + pi2_controller_lag(&loop->controller);
}

static double shortest(const pi2_linear_loop *loop)
{
    double found = INFINITY;
    for (size_t c = 0; c < loop->classes; c++)
        found = fmin(found, loop->cls[c].rtt);
    return found;
}

/* The parts of the plant without a division: `drive`, and s - feedback, both times the senders' determinants. Unless scale
 * is 0 each of these is over (s + scale)^n and, if it is not 0, of size 1: of what winds, no size matters, and that of many
 * would underflow. */
static void entire(const pi2_linear_loop *loop, double w, double scale, number *drive, number *plant)
{
    const number s = {0.0, w};
    number product = {1.0, 0.0};
    *drive = (number){0.0, 0.0};
    *plant = s;
    for (size_t c = 0; c < loop->classes; c++) {
        const pi2_linear_class *const p = &loop->cls[c];
        const number e = turned(w * p->rtt);
        number own = in_both(p->own, p->states, s, e), from_u = in_both(p->signal, p->states, s, e);
        number from_delay = in_both(p->delay, p->states, s, e);
        for (int k = 0; scale > 0.0 && k < p->states; k++) {
            const number unit = {scale, w};
            from_u = over(from_u, unit);
            from_delay = over(from_delay, unit);
            own = over(own, unit);
        }
        if (scale > 0.0) {
            const double size = sqrt(own.re * own.re + own.im * own.im), inverse = size > 0.0 ? 1.0 / size : 1.0;
            own = scaled(inverse, own);
            from_u = scaled(inverse, from_u);
            from_delay = scaled(inverse, from_delay);
        }
        const number heard = times(times(from_u, e), (number){1.0, p->lead * w});
        *drive = plus(times(*drive, own), scaled(-p->weight, times(heard, product)));
        const number felt = plus(scaled(p->r, own), from_delay);
        *plant = plus(times(*plant, own), scaled(-p->weight, times(felt, product)));
        product = times(product, own);
    }
}

static int respond_by(const pi2_linear_loop *loop, const pi2_linear_sums *sums, size_t n, const double *w, double *values)
{
    enum { MANY = 32 };
    const pi2_controller *const controller = &loop->controller;
    const double late = pi2_controller_lag(controller);
    for (size_t p = 0; p < n; p += MANY) {
        const size_t many = n - p < MANY ? n - p : MANY;
        double s[2 * MANY], sum[2 * MANY];
        for (size_t i = 0; i < many; i++) {
            s[2 * i] = 0.0;
            s[2 * i + 1] = w[p + i];
        }
        if (controller->update == PI2_SAMPLED && !pi2_linear_sums_at(sums, many, s, sum))
            return 0;
        for (size_t i = 0; i < many; i++) {
            const double at = w[p + i];
            const number x = controller_variable(controller, at);
            number L = over(controller_top(controller, x), controller_bottom(controller, x));
            if (controller->update == PI2_SAMPLED) {
                L = times(times(L, x), (number){sum[2 * i], sum[2 * i + 1]});
            } else {
                number drive, plant;
                entire(loop, at, 0.0, &drive, &plant);
                L = times(L, over(drive, plant));
                L = late > 0.0 ? times(L, turned(at * late)) : L;
            }
            store(L, values + 2 * (p + i));
        }
    }
    return 1;
}

static int respond(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    return respond_by(loop, loop->sums, n, w, values);
}

static int sketch(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    return respond_by(loop, loop->rough, n, w, values);
}

static pi2_curve sketch_of(const pi2_linear_loop *loop)
{
    const double end = pi2_controller_end(&loop->controller);
    double a[2], b[2];
    const int known = loop->rough && sketch(loop, 1, &end, a) && respond(loop, 1, &end, b);
    return (pi2_curve){known && hypot(a[0] - b[0], a[1] - b[1]) < 1e-4 * hypot(b[0], b[1]) ? sketch : respond, loop};
}

/* --- characteristic functions ---------------------------------------------------------------- */

/* The characteristic function of the closed loop and that of senders and queue alone, over (s + 1/longest)^n: both tend to 1
 * at high frequency. */
static int closed(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    const pi2_controller *const controller = &loop->controller;
    const double scale = 1.0 / longest(loop), late = pi2_controller_lag(controller), leading = controller_leading(controller);
    for (size_t i = 0; i < n; i++) {
        const number x = controller_variable(controller, w[i]), unit = {scale, w[i]};
        number drive, plant;
        entire(loop, w[i], scale, &drive, &plant);
        number found = times(controller_bottom(controller, x), plant);
        drive = late > 0.0 ? times(drive, turned(w[i] * late)) : drive;
        found = scaled(1.0 / leading, plus(found, times(controller_top(controller, x), drive)));
        for (int k = 0; k <= controller->degree; k++)
            found = over(found, unit);
        store(found, values + 2 * i);
    }
    return 1;
}

static int open(const void *of, size_t n, const double *w, double *values)
{
    const pi2_linear_loop *const loop = of;
    const double scale = 1.0 / longest(loop);
    for (size_t i = 0; i < n; i++) {
        number drive, plant;
        entire(loop, w[i], scale, &drive, &plant);
        store(over(plant, (number){scale, w[i]}), values + 2 * i);
    }
    return 1;
}

static pi2_outcome count(const pi2_loop *loop, pi2_searching *room, int *found)
{
    const pi2_linear_loop *const of = loop->of;
    const pi2_curve close = {closed, of}, apart = {open, of};
    double degree = 1.0;
    for (size_t c = 0; c < of->classes; c++)
        degree += of->cls[c].states;
    if (of->controller.update != PI2_SAMPLED)
        return pi2_count_right(loop, &close, degree + of->controller.degree, room, found);
    pi2_outcome outcome = pi2_count_right(loop, &apart, degree, room, found);
    if (outcome != PI2_DONE || *found == PI2_ON_CONTOUR)
        return outcome;
    const pi2_curve denominator = pi2_controller_denominator(&of->controller);
    int turns;
    outcome = pi2_count_sampled(loop, &denominator, room, &turns);
    *found = turns == PI2_ON_CONTOUR ? turns : *found + turns;
    return outcome;
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* Over v >= w, which falls like 1/v^falls from there. */
static double plant_bound(const pi2_linear_loop *loop, double w, int *falls)
{
    double drive = 0.0, feedback = 0.0;
    *falls = 2;
    for (size_t c = 0; c < loop->classes; c++) {
        const pi2_linear_class *const p = &loop->cls[c];
        const double rest = w - p->rates;
        if (rest <= 0.0)
            return INFINITY;
        const double gain = fabs(p->weight) * p->shown / rest;
        *falls = p->lead != 0.0 ? 1 : *falls;
        drive += gain * (1.0 + fabs(p->lead) * w) * p->heard;
        feedback += fabs(p->weight * p->r) + gain * p->felt;
    }
    return w > feedback ? drive / (w - feedback) : INFINITY;
}

static double bound(const void *of, double w)
{
    const pi2_linear_loop *const loop = of;
    int falls;
    const double plant = plant_bound(loop, w, &falls);
    return isfinite(plant) ? pi2_controlled_bound(&loop->controller, w, plant, falls) : INFINITY;
}

pi2_loop pi2_loop_of_rates(const pi2_linear_loop *loop)
{
    return (pi2_loop){.response = {respond, loop},
                      .sketch = sketch_of(loop),
                      .of = loop,
                      .bound = bound,
                      .count = count,
                      .longest = longest(loop),
                      .shortest = shortest(loop),
                      .end = pi2_controller_end(&loop->controller),
                      .reach = INFINITY,
                      .slow = loop->slow,
                      .integrators = loop->integrators,
                      .settles = loop->settles};
}
