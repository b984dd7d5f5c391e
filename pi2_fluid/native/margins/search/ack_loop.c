#include "margins/search/ack_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"
#include "margins/aliases/ack_plant.h"
#include "margins/search/ack_ends.h"
#include "margins/search/controlling.h"
#include "margins/search/counting.h"
#include "margins/search/crossings.h"

/* Frequencies evaluated at once. */
enum { MANY = 64 };

struct pi2_ack_loop {
    pi2_ack_parts parts;
    pi2_ack_plant *plant;
    pi2_ack_sums *sums; /* if sampled */
    double longest, shortest, reach;
    size_t landmarks;
    double *landmark;
    int integrators;
};

/* --- L --------------------------------------------------------------------------------------- */

static number variable_at(const pi2_controller *controller, number s)
{
    if (controller->update != PI2_SAMPLED)
        return scaled(controller->unit, s);
    if (s.re == 0.0)
        return controller_variable(controller, s.im);
    const number y = scaled(exp(-s.re * controller->interval), turned(s.im * controller->interval));
    return (number){1.0 - y.re, -y.im};
}

/* L(s) at up to MANY points, and the controller's denominator there; 0 if memory lacks. */
static int respond_at(const pi2_ack_loop *loop, size_t n, const double *s, double *values, number *bottom)
{
    const pi2_controller *const controller = &loop->parts.controller;
    const int sampled = controller->update == PI2_SAMPLED;
    const double late = pi2_controller_lag(controller);
    if (!(sampled ? pi2_ack_sums_at(loop->sums, n, s, values) : pi2_ack_plant_at(loop->plant, n, s, values)))
        return 0;
    for (size_t i = 0; i < n; i++) {
        const number at = {s[2 * i], s[2 * i + 1]}, x = variable_at(controller, at);
        bottom[i] = controller_bottom(controller, x);
        number L = over(controller_top(controller, x), bottom[i]);
        L = sampled ? times(L, x) : L;
        L = times(L, (number){values[2 * i], values[2 * i + 1]});
        L = late > 0.0 ? times(L, scaled(exp(-at.re * late), turned(at.im * late))) : L;
        store(L, values + 2 * i);
    }
    return 1;
}

static int respond(const void *of, size_t n, const double *w, double *values)
{
    double s[2 * MANY];
    number bottom[MANY];
    for (size_t first = 0, many; first < n; first += many) {
        many = n - first < MANY ? n - first : MANY;
        for (size_t i = 0; i < many; i++) {
            s[2 * i] = 0.0;
            s[2 * i + 1] = w[first + i];
        }
        if (!respond_at(of, many, s, values + 2 * first, bottom))
            return 0;
    }
    return 1;
}

/* The order of the pole at 0 of what is a positive number over s^order at low frequency; -1: it is none. */
static int integrators_of(const pi2_ack_loop *loop)
{
    pi2_ack_loop plain = *loop;
    pi2_controller *const controller = &plain.parts.controller;
    const double low = 1e-30 / loop->longest, step = 100.0;
    const double s[] = {0.0, low, 0.0, step * low};
    double value[4];
    if (controller->update == PI2_SAMPLED) { /* of which the sums fade into the plant itself there */
        if (!pi2_ack_plant_at(loop->plant, 2, s, value))
            return -1;
        for (int i = 0; i < 2; i++) {
            const number x = controller_variable(controller, s[2 * i + 1]);
            const number D = over(controller_top(controller, x), controller_bottom(controller, x));
            store(times(D, (number){value[2 * i], value[2 * i + 1]}), value + 2 * i);
        }
    } else {
        number bottom[2];
        if (!respond_at(&plain, 2, s, value, bottom))
            return -1;
    }
    const double order = round(-log(hypot(value[2], value[3]) / hypot(value[0], value[1])) / log(step));
    if (!(order >= 0.0 && order <= PI2_CONTROLLER_COEFFICIENTS))
        return -1;
    const double angle = 0.5 * PI2_PI * order;
    return value[0] * cos(angle) - value[1] * sin(angle) > 0.0 ? (int)order : -1;
}

/* --- modes that grow ------------------------------------------------------------------------- */

/* Whether the window falls back to its rest for certain: to the right of the axis |P| <= 1, and Re P > -1/4. */
static int fades(const pi2_ack_class *cls)
{
    for (int k = 2; k < PI2_ACK_COEFFICIENTS; k++)
        if (cls->own[0][k] != 0.0)
            return 0;
    const double cut = cls->own[1][0];
    return cls->own[0][0] >= (cut >= 0.0 ? 0.25 * cut : -cut);
}

/* What its window law solves with, over (s + 1/rtt)^n, so that it tends to 1. */
typedef struct {
    const pi2_ack_class *cls;
    double bunch;
    int degree;
} window_law;

static int window_at(const void *of, size_t n, const double *w, double *values)
{
    const window_law *const law = of;
    const pi2_ack_class *const cls = law->cls;
    for (size_t i = 0; i < n; i++) {
        const number s = {0.0, w[i]}, e = turned(w[i] * cls->rtt);
        number P = {1.0, 0.0};
        if (cls->reduces) {
            const number even = over((number){1.0 - e.re, -e.im}, scaled(cls->rtt, s));
            P = plus(scaled(1.0 - law->bunch, even), scaled(0.5 * law->bunch, (number){1.0 + e.re, e.im}));
        }
        number found = plus(polynomial(cls->own[0], law->degree, s), times(P, polynomial(cls->own[1], law->degree, s)));
        found = scaled(1.0 / cls->own[0][law->degree], found);
        for (int k = 0; k < law->degree; k++)
            found = over(found, (number){1.0 / cls->rtt, w[i]});
        store(found, values + 2 * i);
    }
    return 1;
}

/* Modes of the window laws by themselves. */
static pi2_outcome count_windows(const pi2_loop *loop, pi2_searching *room, int *found)
{
    const pi2_ack_parts *const parts = &((const pi2_ack_loop *)loop->of)->parts;
    *found = 0;
    for (size_t c = 0; c < parts->classes; c++) {
        window_law law = {&parts->cls[c], parts->queue.bunch, PI2_ACK_COEFFICIENTS - 1};
        if (fades(law.cls))
            continue;
        while (law.degree > 0 && law.cls->own[0][law.degree] == 0.0)
            law.degree--;
        pi2_loop alone = *loop;
        alone.longest = law.cls->rtt;
        alone.landmarks = 0;
        const pi2_curve curve = {window_at, &law};
        int own;
        const pi2_outcome outcome = pi2_count_right(&alone, &curve, law.degree, room, &own);
        if (outcome != PI2_DONE)
            return outcome;
        if (own == PI2_ON_CONTOUR) {
            *found = own;
            return PI2_DONE;
        }
        *found += own;
    }
    return PI2_DONE;
}

/* The controller's denominator, that of a continuous one over its leading coefficient and (s + 1/longest)^degree, times
 * 1 + L: along the axis, or across the strip at the reach. */
typedef struct {
    const pi2_ack_loop *loop;
    int across;
} returned;

static int return_difference(const void *of, size_t n, const double *x, double *values)
{
    const returned *const p = of;
    const pi2_controller *const controller = &p->loop->parts.controller;
    const double leading = controller_leading(controller), scale = 1.0 / p->loop->longest;
    double s[2 * MANY];
    number bottom[MANY];
    for (size_t first = 0, many; first < n; first += many) {
        many = n - first < MANY ? n - first : MANY;
        for (size_t i = 0; i < many; i++) {
            s[2 * i] = p->across ? x[first + i] : 0.0;
            s[2 * i + 1] = p->across ? p->loop->reach : x[first + i];
        }
        if (!respond_at(p->loop, many, s, values + 2 * first, bottom))
            return 0;
        for (size_t i = 0; i < many; i++) {
            double *const value = values + 2 * (first + i);
            number found = times(bottom[i], (number){1.0 + value[0], value[1]});
            if (controller->update != PI2_SAMPLED) {
                found = scaled(1.0 / leading, found);
                for (int k = 0; k < controller->degree; k++)
                    found = over(found, (number){s[2 * i] + scale, s[2 * i + 1]});
            }
            store(found, value);
        }
    }
    return 1;
}

/* Modes that have come over the axis on the way from no gain to the loop's own: each where L is below -1. */
static pi2_outcome count_entered(const pi2_loop *loop, pi2_searching *room, int *found)
{
    const pi2_outcome outcome = pi2_find_crossings(loop, room, 0);
    *found = 0;
    for (size_t k = 0; outcome == PI2_DONE && k < room->phase.n; k++)
        *found += room->phase.at[k].value > 1.0 ? room->phase.at[k].enters : 0;
    return outcome;
}

static pi2_outcome count(const pi2_loop *loop, pi2_searching *room, int *found)
{
    const pi2_ack_loop *const of = loop->of;
    const pi2_controller *const controller = &of->parts.controller;
    const returned axis = {of, 0}, strip = {of, 1};
    const pi2_curve along = {return_difference, &axis}, across = {return_difference, &strip};
    int windows, turns = 0;
    pi2_outcome outcome = count_windows(loop, room, &windows);
    if (outcome != PI2_DONE)
        return outcome;
    if (pi2_ack_exchanges_unseen(of->parts.classes, of->parts.cls)) {
        outcome = count_entered(loop, room, &turns);
    } else if (of->reach < loop->end) {
        outcome = pi2_count_strip(loop, &along, &across, room, &turns);
    } else if (controller->update == PI2_SAMPLED) {
        const pi2_curve denominator = pi2_controller_denominator(controller);
        outcome = pi2_count_sampled(loop, &denominator, room, &turns);
    } else {
        outcome = pi2_count_right(loop, &along, controller->degree, room, &turns);
    }
    *found = windows == PI2_ON_CONTOUR || turns == PI2_ON_CONTOUR ? PI2_ON_CONTOUR : windows + turns;
    return outcome;
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* Over v >= w, which falls like 1/v^falls from there. */
static double plant_bound(const pi2_ack_loop *loop, double w, int *falls)
{
    enum { POINTS = 1000 };
    const pi2_ack_parts *const parts = &loop->parts;
    double largest = 0.0;
    int measured = 0;
    *falls = 2;
    for (size_t c = 0; c < parts->classes; c++) {
        int power;
        const double part = parts->cls[c].share / (1.0 - parts->unclocked);
        const double bound = pi2_ack_window_bound(&parts->cls[c], &parts->size[c], parts->queue.bunch, w, &power);
        if (!isfinite(bound))
            return INFINITY;
        largest += part * bound;
        *falls = power < *falls ? power : *falls;
        measured |= parts->cls[c].paced || pi2_ack_follows(&parts->cls[c]);
    }
    if (isfinite(loop->reach)) /* which it ends before anything need be bounded */
        return INFINITY;
    if (!measured)
        return largest;
    double most = 0.0, s[2 * MANY], value[2 * MANY];
    for (int first = 0, many; first < POINTS; first += many) {
        many = POINTS - first < MANY ? POINTS - first : MANY;
        for (int i = 0; i < many; i++) {
            s[2 * i] = 0.0;
            s[2 * i + 1] = w * pow(100.0, (double)(first + i) / (POINTS - 1));
        }
        if (!pi2_ack_plant_at(loop->plant, (size_t)many, s, value))
            return INFINITY;
        for (int i = 0; i < many; i++) {
            const double far = s[2 * i + 1] / w;
            most = fmax(most, hypot(value[2 * i], value[2 * i + 1]) * (*falls == 2 ? far * far : far));
        }
    }
    return 1.5 * most;
}

static double bound(const void *of, double w)
{
    const pi2_ack_loop *const loop = of;
    const pi2_controller *const controller = &loop->parts.controller;
    int falls;
    const double plant = plant_bound(loop, w, &falls);
    return isfinite(plant) ? pi2_controlled_bound(controller, w, plant, falls) : INFINITY;
}

/* --- making ---------------------------------------------------------------------------------- */

void pi2_ack_weigh(size_t pairs, double *weights)
{
    double *const whole = weights, *const mean = weights + 2 * pairs, half = (double)pairs;
    double sum = 0.0;
    for (size_t k = 0; k < 2 * pairs; k++) {
        const double x = fabs((double)k - half + 0.5) / half, y = fmin(fmax((x - 1.0 / 3.0) / (2.0 / 3.0), 1e-9), 1.0 - 1e-9);
        const double rising = exp(-1.0 / y), falling = exp(-1.0 / (1.0 - y));
        whole[k] = falling / (rising + falling);
        mean[k] = whole[k] * (1.0 - whole[k]);
        sum += mean[k];
    }
    for (size_t k = 0; k < 2 * pairs; k++)
        mean[k] /= sum;
}

static void *copied(const void *from, size_t n, size_t size)
{
    void *const to = malloc(n * size + 1);
    if (to && n)
        memcpy(to, from, n * size);
    return to;
}

pi2_ack_loop *pi2_ack_loop_make(const pi2_ack_parts *parts)
{
    pi2_ack_loop *const loop = calloc(1, sizeof *loop);
    if (!loop)
        return NULL;
    const size_t n = parts->classes;
    loop->parts = *parts;
    loop->parts.cls = copied(parts->cls, n, sizeof *parts->cls);
    loop->parts.size = copied(parts->size, n, sizeof *parts->size);
    loop->plant = pi2_ack_plant_make(n, parts->cls, &parts->queue);
    loop->longest = 0.0;
    loop->shortest = INFINITY;
    for (size_t c = 0; c < n; c++) {
        loop->longest = fmax(loop->longest, parts->cls[c].rtt);
        loop->shortest = fmin(loop->shortest, parts->cls[c].rtt);
    }
    loop->longest += pi2_controller_lag(&parts->controller);
    loop->reach = pi2_ack_reach(n, parts->cls);
    const pi2_outcome marked = pi2_ack_landmarks(n, parts->cls, loop->reach, &loop->landmarks, &loop->landmark);
    int done = loop->parts.cls && loop->parts.size && loop->plant && marked != PI2_NO_MEMORY;
    if (done && parts->controller.update == PI2_SAMPLED) {
        loop->sums = pi2_ack_sums_make(loop->plant, parts->controller.interval, parts->pairs, parts->weights,
                                       parts->weights + 2 * parts->pairs, !isfinite(loop->reach));
        done = loop->sums != NULL;
    }
    if (!done) {
        pi2_ack_loop_free(loop);
        return NULL;
    }
    loop->integrators = marked == PI2_DONE ? integrators_of(loop) : -2;
    return loop;
}

void pi2_ack_loop_free(pi2_ack_loop *loop)
{
    if (loop) {
        pi2_ack_sums_free(loop->sums);
        pi2_ack_plant_free(loop->plant);
        free((void *)loop->parts.cls);
        free((void *)loop->parts.size);
        free(loop->landmark);
    }
    free(loop);
}

pi2_loop pi2_loop_of_acks(const pi2_ack_loop *loop)
{
    const pi2_curve response = {respond, loop};
    return (pi2_loop){.response = response,
                      .sketch = response,
                      .of = loop,
                      .bound = bound,
                      .count = count,
                      .longest = loop->longest,
                      .shortest = loop->shortest,
                      .end = pi2_controller_end(&loop->parts.controller),
                      .reach = loop->reach,
                      .slow = loop->parts.slow,
                      .integrators = loop->integrators,
                      .settles = loop->parts.settles,
                      .landmarks = loop->landmarks,
                      .landmark = loop->landmark};
}
