#include "matrices/crossings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"
#include "matrices/algebra.h"

#define TURN (2.0 * PI2_PI)
#define QUARTER 4.0     /* from one to the next of so many low frequencies */
#define RESOLVED 1e11   /* of the smallest eigenvalue, what the largest may be */
#define SETTLED 0.02    /* of ln e, from what it tends to */
#define REAL 1e-3
#define CONVERGED 1e-9  /* by a step: the next would be the square of it */
#define APART 1e-6
#define NEARLY 0.4
#define SMALL 1e-5
#define LARGEST 0.5
enum { QUARTERS = 60, ROUNDS = 6, FADINGS = 200, ROWS = PI2_MATRIX_ROWS };

void pi2_matrix_crossings_free(pi2_matrix_crossings *found)
{
    pi2_path_free(&found->grid);
    pi2_loci_free(&found->loci);
    free(found->crossing);
    *found = (pi2_matrix_crossings){0};
}

/* --- the range ------------------------------------------------------------------------------- */

/* NaN: eigenvalues do not settle. */
static double low_end(const pi2_matrices *response, double start)
{
    const int rows = response->rows;
    number values[2][ROWS];
    int settled[QUARTERS - 1];
    double w[QUARTERS];
    for (int k = 0; k < QUARTERS; k++) {
        w[k] = start / 100.0 / pow(QUARTER, k);
        number *const here = values[k % 2], *const before = values[(k + 1) % 2];
        if (!pi2_eigenvalues_at(response, 1, w + k, here))
            return NAN;
        if (!k)
            continue;
        int order[ROWS], all = 1;
        double steps[ROWS], most = 0.0, least = INFINITY;
        (void)pi2_match(rows, before, here, order, steps);
        for (int j = 0; j < rows; j++) {
            const number grown = over(here[order[j]], before[j]);
            const double grows = log(size_of(grown)), turns = atan2(grown.im, grown.re), size = size_of(here[order[j]]);
            const double falls = fmin(hypot(grows - log(QUARTER), turns), hypot(grows - 2.0 * log(QUARTER), turns));
            const int flat = hypot(grows, turns) < SETTLED, falling = falls < SETTLED && size_of(before[j]) > 2.0;
            all &= flat || falling;
            most = fmax(most, size);
            least = fmin(least, size);
        }
        settled[k - 1] = all || most > RESOLVED * least;
    }
    int first = QUARTERS - 1;
    while (first > 0 && settled[first - 1])
        first--;
    return first < QUARTERS - 1 ? w[first] : NAN;
}

static double fading(const pi2_matrix_search *search)
{
    double w = search->turning;
    for (int k = 0; k < FADINGS; k++) {
        if (search->bound(search->of, w) < 1.0)
            return w;
        w *= 1.5;
    }
    return NAN;
}

/* --- Newton's method on the determinant ------------------------------------------------------ */

/* From x = ln w and y to where det(I + e^(turn y) L(jw)) is 0; returns how far the last step went, infinite if one was
 * too large. */
static double polish(const pi2_matrices *response, number turn, double *x, double *y)
{
    const int rows = response->rows;
    double moved = INFINITY;
    for (int round = 0; round < ROUNDS && !(moved < CONVERGED); round++) {
        number matrix[3][ROWS * ROWS], at[5];
        for (int k = 0; k < 3; k++) {
            const double w = exp(*x + (k == 1 ? SMALL : k == 2 ? -SMALL : 0.0));
            if (!response->at(response->of, 1, &w, matrix[k]))
                return INFINITY;
            at[k] = pi2_return_determinant(rows, matrix[k], raised(scaled(*y, turn)));
        }
        for (int k = 3; k < 5; k++)
            at[k] = pi2_return_determinant(rows, matrix[0], raised(scaled(*y + (k == 3 ? SMALL : -SMALL), turn)));
        const number value = at[0], by_x = scaled(0.5 / SMALL, minus(at[1], at[2]));
        const number by_y = scaled(0.5 / SMALL, minus(at[3], at[4]));
        const double area = by_x.re * by_y.im - by_x.im * by_y.re;
        const double in_x = (value.im * by_y.re - value.re * by_y.im) / area;
        const double in_y = (value.re * by_x.im - value.im * by_x.re) / area;
        moved = hypot(in_x, in_y);
        if (!(moved < LARGEST))
            return INFINITY;
        *x += in_x;
        *y += in_y;
    }
    return moved;
}

/* --- crossovers ------------------------------------------------------------------------------ */

static int add(pi2_matrix_crossings *found, double w, double left, int enters)
{
    const size_t n = found->gains + found->phases;
    if (n == found->room) {
        const size_t room = 2 * n + 8;
        pi2_matrix_crossing *const more = realloc(found->crossing, room * sizeof *more);
        if (!more)
            return 0;
        found->crossing = more;
        found->room = room;
    }
    found->crossing[n] = (pi2_matrix_crossing){w, left, enters};
    return 1;
}

static int by_frequency(const void *one, const void *two)
{
    const pi2_matrix_crossing *const a = one, *const b = two;
    if (a->w != b->w)
        return a->w < b->w ? -1 : 1;
    if (a->left != b->left)
        return a->left < b->left ? -1 : 1;
    return a->enters - b->enters;
}

/* One locus at one frequency: what crosses 0 at a gain crossover, or at a phase crossover. */
typedef struct {
    double f, away; /* f may be away times something that crosses 0 elsewhere */
    double left;    /* what is left there, to the other kind */
    double level;
} height;

/* Where a followed value is next to 0, on one side of it, and turns back. */
static int nearly_crosses(height before, height here, height after)
{
    const double inner = fabs(here.f);
    if (!(inner < fabs(before.f)) || !(inner <= fabs(after.f)) || !(fabs(here.away) < NEARLY))
        return 0;
    if (!(inner < fmax(fabs(here.f - before.f), fabs(after.f - here.f))))
        return 0;
    return here.f * before.f > 0.0 && here.f * after.f > 0.0;
}

typedef struct {
    const pi2_matrix_search *search;
    const pi2_loci *loci;
    int locus, phase;
    double last_angle; /* unwrapped, of the frequency before */
} walker;

static height height_at(walker *along, size_t i)
{
    const pi2_loci *const loci = along->loci;
    const number value = loci->values[i * (size_t)along->search->response.rows + (size_t)along->locus];
    const double size = log(size_of(value));
    double angle = atan2(value.im, value.re);
    const double from = i ? along->last_angle : -0.5 * PI2_PI;
    angle += TURN * rint((from - angle) / TURN);
    along->last_angle = angle;
    if (!along->phase)
        return (height){size, size, PI2_PI + angle, 0.0};
    const double level = PI2_PI + TURN * rint((angle - PI2_PI) / TURN), away = angle - level;
    const double end = along->search->end;
    /* Loci that are real at pi/T are there at an angle's level, or between two, by symmetry alone. */
    const double odd = isfinite(end) ? cos(0.5 * PI2_PI * loci->w[i] / end) : 1.0;
    return (height){away / odd, away, -size, level};
}

static pi2_loci_outcome cross(const pi2_matrix_search *search, int phase, int locus, pi2_matrix_crossings *found)
{
    const pi2_loci *const loci = &found->loci;
    walker along = {search, loci, locus, phase, 0.0};
    const number turn = phase ? (number){1.0, 0.0} : (number){0.0, -1.0};
    size_t *const count = phase ? &found->phases : &found->gains;
    height before = {0}, here = height_at(&along, 0);
    for (size_t i = 0; i + 1 < loci->n; i++) {
        const height after = height_at(&along, i + 1);
        if (here.f == 0.0 || after.f == 0.0 || (i && nearly_crosses(before, here, after)))
            return PI2_LOCI_ELSEWHERE;
        if (here.f * after.f < 0.0 && here.level == after.level) {
            const double left = log(loci->w[i]), right = log(loci->w[i + 1]);
            const double part = here.f / (here.f - after.f);
            double x = (1.0 - part) * left + part * right, y = (1.0 - part) * here.left + part * after.left;
            const double moved = polish(&search->response, turn, &x, &y);
            if (!(moved <= CONVERGED) || x < left || x > right)
                return PI2_LOCI_ELSEWHERE;
            if (!add(found, exp(x), y, here.f > 0.0 ? 2 : -2))
                return PI2_LOCI_NO_MEMORY;
            ++*count;
        }
        before = here;
        here = after;
    }
    /* A curve that is mirrored at its end has a neighbour on its right there, too. */
    if (isfinite(search->end) && nearly_crosses(before, here, before))
        return PI2_LOCI_ELSEWHERE;
    return PI2_LOCI_FOUND;
}

/* Of loci that are real and negative at pi/T. */
static int add_phases_at_end(const pi2_matrix_search *search, pi2_matrix_crossings *found)
{
    const int rows = search->response.rows;
    const number *const last = found->loci.values + (found->loci.n - 1) * (size_t)rows;
    for (int k = 0; k < rows; k++)
        if (last[k].re < 0.0 && fabs(last[k].im) < REAL * size_of(last[k])) {
            if (!add(found, search->end, -log(-last[k].re), last[k].im < 0.0 ? 1 : -1))
                return 0;
            found->phases++;
        }
    return 1;
}

static int too_close(size_t n, const pi2_matrix_crossing *found)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (hypot(log(found[i].w / found[k].w), found[i].left - found[k].left) < APART)
                return 1;
    return 0;
}

static pi2_loci_outcome cross_all(const pi2_matrix_search *search, pi2_matrix_crossings *found)
{
    const int rows = search->response.rows;
    found->gains = found->phases = 0;
    for (int phase = 0; phase < 2; phase++) {
        for (int locus = 0; locus < rows; locus++) {
            const pi2_loci_outcome outcome = cross(search, phase, locus, found);
            if (outcome != PI2_LOCI_FOUND)
                return outcome;
        }
        pi2_matrix_crossing *const own = found->crossing + (phase ? found->gains : 0);
        const size_t n = phase ? found->phases : found->gains;
        if (n)
            qsort(own, n, sizeof *own, by_frequency);
        if (too_close(n, own))
            return PI2_LOCI_ELSEWHERE;
    }
    return isfinite(search->end) && !add_phases_at_end(search, found) ? PI2_LOCI_NO_MEMORY : PI2_LOCI_FOUND;
}

pi2_loci_outcome pi2_find_matrix_crossings(const pi2_matrix_search *search, int quiet, pi2_matrix_crossings *found)
{
    const double end = search->end, turning = search->turning;
    const double low = low_end(&search->response, fmin(turning, end / 8.0)), spacing = fmin(0.4 * turning, end / 8.0);
    double high = isfinite(end) ? end * (1.0 - 1e-6) : fmax(fading(search), 8.0 * low);
    if (isnan(low) || isnan(high))
        return PI2_LOCI_ELSEWHERE;
    for (;;) {
        const pi2_outcome grid = pi2_path_grid(&found->grid, low, high, spacing, 1.0);
        if (grid != PI2_DONE)
            return grid == PI2_NO_MEMORY ? PI2_LOCI_NO_MEMORY : PI2_LOCI_ELSEWHERE;
        pi2_loci_outcome outcome = pi2_loci_follow(&search->response, &found->grid, &found->loci);
        if (outcome == PI2_LOCI_FOUND)
            outcome = cross_all(search, found);
        if (outcome != PI2_LOCI_FOUND || isfinite(end))
            return outcome;
        double best = 0.0;
        for (size_t k = 0; k < found->phases; k++) {
            const double gain = exp(-found->crossing[found->gains + k].left);
            best = !quiet || gain < 1.0 ? fmax(best, gain) : best;
        }
        if (best > search->bound(search->of, high))
            return PI2_LOCI_FOUND;
        high = 2.0 * high + TURN * turning;
    }
}
