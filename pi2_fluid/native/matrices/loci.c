#include "matrices/loci.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"
#include "matrices/algebra.h"

#define STEP 0.4 /* largest |ln(e/e')| between neighbours */
#define NEAR 0.5 /* of a level whose crossings are looked for */
#define FAR 1e9  /* instead of the distance from an eigenvalue that is 0 */
enum { ROUNDS = 60, MOST_POINTS = 20000, ROWS = PI2_MATRIX_ROWS };

void pi2_loci_free(pi2_loci *loci)
{
    free(loci->w);
    free(loci->values);
    free(loci->settled);
    *loci = (pi2_loci){0};
}

static int reserve(pi2_loci *loci, size_t n, int rows)
{
    if (n <= loci->room)
        return 1;
    const size_t room = n + n / 2;
    double *const w = realloc(loci->w, room * sizeof *w);
    loci->w = w ? w : loci->w;
    number *const values = realloc(loci->values, room * (size_t)rows * sizeof *values);
    loci->values = values ? values : loci->values;
    unsigned char *const settled = realloc(loci->settled, room);
    loci->settled = settled ? settled : loci->settled;
    if (!w || !values || !settled)
        return 0;
    loci->room = room;
    return 1;
}

int pi2_eigenvalues_at(const pi2_matrices *of, size_t n, const double *w, number *values)
{
    number matrix[ROWS * ROWS];
    for (size_t i = 0; i < n; i++)
        if (!of->at(of->of, 1, w + i, matrix) || !pi2_matrix_eigenvalues(of->rows, matrix, values + i * (size_t)of->rows))
            return 0;
    return 1;
}

/* --- which is which -------------------------------------------------------------------------- */

static double distance(number a, number b)
{
    const double size = a.re * a.re + a.im * a.im, other = b.re * b.re + b.im * b.im;
    const double angle = atan2(a.im * b.re - a.re * b.im, a.re * b.re + a.im * b.im);
    const double found = hypot(0.5 * log(size / other), angle);
    return isfinite(found) ? found : FAR;
}

/* Whether a value is near the unit circle or the negative axis. */
static int near_level(number value)
{
    return fabs(log(size_of(value))) < NEAR || fabs(atan2(-value.im, -value.re)) < NEAR;
}

/* The assignment with the least sum of squares: row after row takes a place, and may move others along the cheapest way to
 * one that is free. */
static void assign(int n, double far[ROWS][ROWS], int *order)
{
    double by_row[ROWS] = {0.0}, by_column[ROWS + 1] = {0.0};
    int owner[ROWS + 1];
    for (int j = 0; j <= n; j++)
        owner[j] = -1;
    for (int row = 0; row < n; row++) {
        double least[ROWS];
        int before[ROWS], seen[ROWS + 1] = {0}, at = n;
        owner[n] = row;
        for (int j = 0; j < n; j++) {
            least[j] = INFINITY;
            before[j] = n;
        }
        while (owner[at] >= 0) {
            const int mine = owner[at];
            double gap = INFINITY;
            int next = -1;
            seen[at] = 1;
            for (int j = 0; j < n; j++) {
                if (seen[j])
                    continue;
                const double cost = far[mine][j] * far[mine][j] - by_row[mine] - by_column[j];
                if (cost < least[j]) {
                    least[j] = cost;
                    before[j] = at;
                }
                if (next < 0 || least[j] < gap) {
                    gap = least[j];
                    next = j;
                }
            }
            for (int j = 0; j <= n; j++) {
                if (seen[j]) {
                    by_row[owner[j]] += gap;
                    by_column[j] -= gap;
                } else if (j < n) {
                    least[j] -= gap;
                }
            }
            at = next;
        }
        while (at != n) {
            owner[at] = owner[before[at]];
            at = before[at];
        }
    }
    for (int j = 0; j < n; j++)
        order[owner[j]] = j;
}

int pi2_match(int rows, const number *left, const number *right, int *order, double *steps)
{
    double far[ROWS][ROWS];
    int taken[ROWS] = {0}, clear = 1;
    for (int i = 0; i < rows; i++) {
        order[i] = 0;
        for (int j = 0; j < rows; j++) {
            far[i][j] = distance(left[i], right[j]);
            if (far[i][j] < far[i][order[i]])
                order[i] = j;
        }
        clear &= !taken[order[i]]++;
    }
    if (!clear)
        assign(rows, far, order);
    for (int i = 0; i < rows; i++)
        steps[i] = far[i][order[i]];
    for (int i = 0; i < rows; i++)
        for (int j = i + 1; j < rows; j++) {
            const number after = right[order[i]], other = right[order[j]];
            const double apart = distance(left[i], left[j]), apart_after = distance(after, other);
            const double pair = fmax(steps[i], steps[j]);
            /* Of two that stay together it does not matter which is which. */
            if (fmax(apart, apart_after) > 0.25 * pair && fmin(apart, apart_after) < 2.0 * pair
                && (near_level(left[i]) || near_level(after)) && (near_level(left[j]) || near_level(other)))
                return 1;
        }
    return 0;
}

/* --- following ------------------------------------------------------------------------------- */

/* Columns become loci, from the largest one at the first frequency on. */
static void order_columns(int rows, pi2_loci *loci)
{
    int place[ROWS], order[ROWS], next[ROWS];
    double steps[ROWS];
    for (int k = 0; k < rows; k++) {
        int at = k;
        while (at > 0 && size_of(loci->values[k]) > size_of(loci->values[place[at - 1]])) {
            place[at] = place[at - 1];
            at--;
        }
        place[at] = k;
    }
    number before[ROWS], here[ROWS];
    for (size_t i = 0; i < loci->n; i++) {
        number *const values = loci->values + i * (size_t)rows;
        memcpy(here, values, sizeof(number) * (size_t)rows);
        if (i) {
            (void)pi2_match(rows, before, here, order, steps);
            for (int k = 0; k < rows; k++)
                next[k] = order[place[k]];
            memcpy(place, next, sizeof place);
        }
        for (int k = 0; k < rows; k++)
            values[k] = here[place[k]];
        memcpy(before, here, sizeof before);
    }
}

pi2_loci_outcome pi2_loci_follow(const pi2_matrices *of, const pi2_path *grid, pi2_loci *loci)
{
    const int rows = of->rows;
    const size_t each = sizeof(number) * (size_t)rows;
    if (!reserve(loci, grid->n, rows))
        return PI2_LOCI_NO_MEMORY;
    loci->n = grid->n;
    memcpy(loci->w, grid->w, grid->n * sizeof(double));
    memset(loci->settled, 0, grid->n);
    if (!pi2_eigenvalues_at(of, loci->n, loci->w, loci->values))
        return PI2_LOCI_ELSEWHERE;
    for (int round = 0; round < ROUNDS; round++) {
        size_t wide = 0;
        for (size_t i = 0; i + 1 < loci->n; i++) {
            if (loci->settled[i])
                continue;
            int order[ROWS];
            double steps[ROWS];
            const number *const here = loci->values + i * (size_t)rows;
            int far = pi2_match(rows, here, here + rows, order, steps);
            for (int k = 0; k < rows; k++)
                far |= steps[k] > STEP;
            loci->settled[i] = !far || !(loci->w[i + 1] - loci->w[i] > 1e-12 * loci->w[i + 1]);
            wide += !loci->settled[i];
        }
        if (!wide) {
            order_columns(rows, loci);
            return PI2_LOCI_FOUND;
        }
        if (loci->n > MOST_POINTS)
            break;
        if (!reserve(loci, loci->n + wide, rows))
            return PI2_LOCI_NO_MEMORY;
        const size_t before = loci->n;
        loci->n += wide;
        size_t left = wide;
        for (size_t i = before; i-- > 0;) { /* from the back, in place */
            const unsigned char settled = loci->settled[i];
            if (i + 1 < before && !settled) {
                const size_t to = i + left--;
                loci->w[to] = -1.0; /* its middle, which is known when both neighbours are in place */
                loci->settled[to] = 0;
            }
            loci->w[i + left] = loci->w[i];
            memmove(loci->values + (i + left) * (size_t)rows, loci->values + i * (size_t)rows, each);
            loci->settled[i + left] = settled;
        }
        for (size_t i = 1; i + 1 < loci->n; i++)
            if (loci->w[i] < 0.0) {
                loci->w[i] = sqrt(loci->w[i - 1] * loci->w[i + 1]);
                if (!pi2_eigenvalues_at(of, 1, loci->w + i, loci->values + i * (size_t)rows))
                    return PI2_LOCI_ELSEWHERE;
            }
    }
    return PI2_LOCI_ELSEWHERE;
}
