#include "matrices/sampled.h"

#include <math.h>
#include <string.h>

#include "elementary.h"
#include "matrices/algebra.h"

enum { ROWS = PI2_MATRIX_ROWS, ROOM = PI2_MATRIX_ROWS * PI2_MATRIX_ROWS };

/* What G/s is at w beyond its leading terms, added to a sum. */
static int add_rest(const pi2_sampled_matrix *loop, double w, number *sum)
{
    const int links = loop->plant->links, size = links * links;
    number plant[ROOM];
    if (!pi2_matrix_plant_at(loop->plant, 1, &w, plant))
        return 0;
    const number s = {0.0, w}, over_s = over((number){1.0, 0.0}, s);
    const number inverse = over((number){1.0, 0.0}, (number){loop->rate, w}), squared = times(inverse, inverse);
    for (int k = 0; k < size; k++) {
        number value = times(plant[k], over_s);
        if (loop->counts[k / links])
            value = times(value, over_s);
        sum[k] = plus(sum[k], value);
    }
    for (int term = 0; term < loop->terms; term++) {
        const number late = times(squared, turned(w * loop->delay[term])), later = times(late, inverse);
        const double *const square = loop->square + term * size, *const cube = loop->cube + term * size;
        for (int k = 0; k < size; k++) {
            sum[k] = minus(sum[k], scaled(square[k], late));
            sum[k] = minus(sum[k], scaled(cube[k], later));
        }
    }
    return 1;
}

static void add_far(const pi2_sampled_matrix *loop, double w, number *sum)
{
    const int size = loop->plant->links * loop->plant->links;
    const double x = 2.0 * w * loop->interval / PI2_PI - 1.0;
    double before = x, here = 1.0; /* as if of degree -1 */
    for (int degree = 0; degree < loop->degrees; degree++) {
        const number *const coefficients = loop->far + degree * size;
        for (int k = 0; k < size; k++)
            sum[k] = plus(sum[k], scaled(here, coefficients[k]));
        const double next = 2.0 * x * here - before;
        before = here;
        here = next;
    }
}

/* The sums over n >= delay/T of (n - delay/T)^m e^{-(n - delay/T)} y^n, m = 1 and 2: `held_sums`. */
static void held(double delay, double angle, number *line, number *square)
{
    const double first = ceil(delay), d = first - delay;
    const number q = scaled(exp(-1.0), turned(angle)), one = over((number){1.0, 0.0}, (number){1.0 - q.re, -q.im});
    const number two = times(q, times(one, one));
    const number three = times(times(q, (number){1.0 + q.re, q.im}), times(one, times(one, one)));
    const number scale = scaled(exp(-d), turned(first * angle));
    *line = times(scale, plus(scaled(d, one), two));
    *square = times(scale, plus(scaled(d * d, one), plus(scaled(2.0 * d, two), three)));
}

/* L_d of all links. */
static int whole(const pi2_sampled_matrix *loop, double w, number *L, number *denominators)
{
    const int links = loop->plant->links, size = links * links;
    const double T = loop->interval, half = 0.5 * w * T;
    memset(L, 0, sizeof(number) * (size_t)size);
    if (!add_rest(loop, w, L) || !add_rest(loop, w - 2.0 * PI2_PI / T, L))
        return 0;
    add_far(loop, w, L);
    for (int k = 0; k < size; k++)
        L[k] = scaled(1.0 / T, L[k]);
    for (int term = 0; term < loop->terms; term++) {
        number line, square;
        held(loop->delay[term] / T, w * T, &line, &square);
        for (int k = 0; k < size; k++) {
            L[k] = plus(L[k], scaled(T * loop->square[term * size + k], line));
            L[k] = plus(L[k], scaled(0.5 * T * T * loop->cube[term * size + k], square));
        }
    }
    /* 1 - y, exact at low frequency */
    const number step = scaled(2.0 * sin(half), (number){sin(half), cos(half)});
    *denominators = (number){1.0, 0.0};
    for (int column = 0; column < links; column++) {
        const pi2_matrix_controller *const update = loop->update + column;
        const number bottom = polynomial(update->denominator, update->bottom, step);
        const number top = scaled(loop->units[column], polynomial(update->numerator, update->top, step));
        const number ratio = times(step, over(top, bottom));
        *denominators = times(*denominators, bottom);
        for (int row = 0; row < links; row++) {
            L[row * links + column] = times(ratio, L[row * links + column]);
            if (loop->counts[row])
                L[row * links + column] = times(scaled(1.0 / T, step), L[row * links + column]);
        }
    }
    return 1;
}

/* L_oo - L_oc (I + L_cc)^-1 L_co, by what of `order` is open. */
static int close_some(const pi2_matrix_plant *plant, const number *full, number *to)
{
    const int links = plant->links, open = plant->open, closed = links - open, *const order = plant->order;
    number inner[ROOM], beside[ROOM];
    int pivot[ROWS];
    for (int i = 0; i < closed; i++) {
        const number *const row = full + order[open + i] * links;
        for (int j = 0; j < closed; j++) {
            inner[i * closed + j] = row[order[open + j]];
            inner[i * closed + j].re += i == j;
        }
        for (int j = 0; j < open; j++)
            beside[i * open + j] = row[order[j]];
    }
    if (closed && !pi2_matrix_factor(closed, inner, pivot))
        return 0;
    pi2_matrix_solve(closed, inner, pivot, open, beside);
    for (int i = 0; i < open; i++)
        for (int j = 0; j < open; j++) {
            const number *const row = full + order[i] * links;
            number sum = row[order[j]];
            for (int k = 0; k < closed; k++)
                sum = minus(sum, times(row[order[open + k]], beside[k * open + j]));
            to[i * open + j] = sum;
        }
    return 1;
}

int pi2_sampled_response(const pi2_sampled_matrix *loop, size_t n, const double *w, number *values)
{
    const int open = loop->plant->open;
    for (size_t i = 0; i < n; i++) {
        number full[ROOM], denominators;
        if (!whole(loop, w[i], full, &denominators)
            || !close_some(loop->plant, full, values + i * (size_t)(open * open)))
            return 0;
    }
    return 1;
}

int pi2_sampled_characteristic(const void *of, size_t n, const double *w, double *values)
{
    const pi2_sampled_matrix *const loop = of;
    for (size_t i = 0; i < n; i++) {
        number full[ROOM], found = {NAN, NAN}, denominators;
        if (whole(loop, w[i], full, &denominators))
            found = times(denominators, pi2_return_determinant(loop->plant->links, full, (number){1.0, 0.0}));
        store(found, values + 2 * i);
    }
    return 1;
}
