#include "matrices/algebra.h"

#include <float.h>
#include <string.h>

enum { ROUNDS = 40, ROOM = PI2_MATRIX_ROWS * PI2_MATRIX_ROWS };

static double square_of(number a)
{
    return a.re * a.re + a.im * a.im;
}

static number conjugate(number a)
{
    return (number){a.re, -a.im};
}

/* --- factors --------------------------------------------------------------------------------- */

int pi2_matrix_factor(int n, number *a, int *pivot)
{
    int sign = 1;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (square_of(a[i * n + k]) > square_of(a[best * n + k]))
                best = i;
        pivot[k] = best;
        if (best != k) {
            sign = -sign;
            for (int j = 0; j < n; j++) {
                const number kept = a[k * n + j];
                a[k * n + j] = a[best * n + j];
                a[best * n + j] = kept;
            }
        }
        if (!(square_of(a[k * n + k]) > 0.0))
            return 0;
        for (int i = k + 1; i < n; i++) {
            const number factor = a[i * n + k] = over(a[i * n + k], a[k * n + k]);
            for (int j = k + 1; j < n; j++)
                a[i * n + j] = minus(a[i * n + j], times(factor, a[k * n + j]));
        }
    }
    return sign;
}

void pi2_matrix_solve(int n, const number *factors, const int *pivot, int columns, number *b)
{
    for (int k = 0; k < n; k++)
        if (pivot[k] != k)
            for (int j = 0; j < columns; j++) {
                const number kept = b[k * columns + j];
                b[k * columns + j] = b[pivot[k] * columns + j];
                b[pivot[k] * columns + j] = kept;
            }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            for (int j = 0; j < columns; j++)
                b[i * columns + j] = minus(b[i * columns + j], times(factors[i * n + k], b[k * columns + j]));
    for (int i = n - 1; i >= 0; i--)
        for (int j = 0; j < columns; j++) {
            for (int k = i + 1; k < n; k++)
                b[i * columns + j] = minus(b[i * columns + j], times(factors[i * n + k], b[k * columns + j]));
            b[i * columns + j] = over(b[i * columns + j], factors[i * n + i]);
        }
}

number pi2_matrix_determinant(int n, number *a)
{
    if (n == 0)
        return (number){1.0, 0.0};
    if (n == 1)
        return a[0];
    if (n == 2)
        return minus(times(a[0], a[3]), times(a[1], a[2]));
    int pivot[PI2_MATRIX_ROWS];
    number product = {pi2_matrix_factor(n, a, pivot), 0.0};
    for (int k = 0; k < n && product.re * product.re + product.im * product.im > 0.0; k++)
        product = times(product, a[k * n + k]);
    return product;
}

number pi2_return_determinant(int n, const number *a, number factor)
{
    number sum[ROOM];
    for (int k = 0; k < n * n; k++) {
        sum[k] = times(factor, a[k]);
        if (k % (n + 1) == 0)
            sum[k].re += 1.0;
    }
    return pi2_matrix_determinant(n, sum);
}

/* --- eigenvalues ----------------------------------------------------------------------------- */

static number root_of(number a)
{
    const double size = size_of(a);
    if (size == 0.0)
        return (number){0.0, 0.0};
    const double half = sqrt(0.5 * (size + fabs(a.re))), other = 0.5 * a.im / half;
    return a.re >= 0.0 ? (number){half, other} : (number){fabs(other), copysign(half, a.im)};
}

/* The larger one first. */
static void of_two(number a, number b, number c, number d, number *values)
{
    const number between = times(b, c);
    if (between.re == 0.0 && between.im == 0.0) {
        const int first = square_of(a) >= square_of(d);
        values[0] = first ? a : d;
        values[1] = first ? d : a;
        return;
    }
    const number mean = scaled(0.5, plus(a, d)), half = scaled(0.5, minus(a, d));
    const number root = root_of(plus(times(half, half), between));
    const number up = plus(mean, root), down = minus(mean, root);
    values[0] = square_of(up) >= square_of(down) ? up : down;
    values[1] = square_of(values[0]) > 0.0 ? over(minus(times(a, d), between), values[0]) : values[0];
}

/* Rows and columns times powers of 2, until both have about one size. */
static void balance(int n, number *a)
{
    for (int round = 0; round < ROUNDS; round++) {
        int done = 1;
        for (int i = 0; i < n; i++) {
            double row = 0.0, column = 0.0;
            for (int j = 0; j < n; j++)
                if (j != i) {
                    row += fabs(a[i * n + j].re) + fabs(a[i * n + j].im);
                    column += fabs(a[j * n + i].re) + fabs(a[j * n + i].im);
                }
            if (row == 0.0 || column == 0.0)
                continue;
            int power;
            (void)frexp(row / column, &power);
            const double factor = ldexp(1.0, power / 2);
            if (column * factor + row / factor >= 0.95 * (row + column))
                continue;
            done = 0;
            for (int j = 0; j < n; j++) {
                a[j * n + i] = scaled(factor, a[j * n + i]);
                a[i * n + j] = scaled(1.0 / factor, a[i * n + j]);
            }
        }
        if (done)
            return;
    }
}

/* Nothing below the first subdiagonal, by elimination of a column and of the row of its factors. */
static void to_hessenberg(int n, number *a)
{
    for (int k = 1; k + 1 < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (square_of(a[i * n + k - 1]) > square_of(a[best * n + k - 1]))
                best = i;
        if (square_of(a[best * n + k - 1]) == 0.0)
            continue;
        for (int j = 0; best != k && j < n; j++) {
            const number kept = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = kept;
        }
        for (int i = 0; best != k && i < n; i++) {
            const number kept = a[i * n + k];
            a[i * n + k] = a[i * n + best];
            a[i * n + best] = kept;
        }
        for (int i = k + 1; i < n; i++) {
            const number factor = over(a[i * n + k - 1], a[k * n + k - 1]);
            for (int j = k - 1; j < n; j++)
                a[i * n + j] = minus(a[i * n + j], times(factor, a[k * n + j]));
            for (int row = 0; row < n; row++)
                a[row * n + k] = plus(a[row * n + k], times(factor, a[row * n + i]));
        }
    }
}

/* One step of the shifted QR algorithm on rows `low` to `high` of a matrix without anything below its first
 * subdiagonal. */
static void step(int n, number *a, int low, int high, number shift)
{
    number cosine[PI2_MATRIX_ROWS], sine[PI2_MATRIX_ROWS];
    for (int k = low; k <= high; k++)
        a[k * n + k] = minus(a[k * n + k], shift);
    for (int k = low; k < high; k++) {
        const number x = a[k * n + k], y = a[(k + 1) * n + k];
        const double r = hypot(size_of(x), size_of(y));
        cosine[k] = r > 0.0 ? scaled(1.0 / r, x) : (number){1.0, 0.0};
        sine[k] = r > 0.0 ? scaled(1.0 / r, y) : (number){0.0, 0.0};
        for (int j = k; j <= high; j++) {
            const number up = a[k * n + j], down = a[(k + 1) * n + j];
            a[k * n + j] = plus(times(conjugate(cosine[k]), up), times(conjugate(sine[k]), down));
            a[(k + 1) * n + j] = minus(times(cosine[k], down), times(sine[k], up));
        }
    }
    for (int k = low; k < high; k++)
        for (int i = low; i <= k + 1; i++) {
            const number left = a[i * n + k], right = a[i * n + k + 1];
            a[i * n + k] = plus(times(left, cosine[k]), times(right, sine[k]));
            a[i * n + k + 1] = minus(times(right, conjugate(cosine[k])), times(left, conjugate(sine[k])));
        }
    for (int k = low; k <= high; k++)
        a[k * n + k] = plus(a[k * n + k], shift);
}

static int by_steps(int n, number *a, number *values)
{
    balance(n, a);
    to_hessenberg(n, a);
    int high = n - 1, rounds = 0;
    while (high >= 0) {
        int low = high;
        while (low > 0) {
            const double beside = size_of(a[low * n + low]) + size_of(a[(low - 1) * n + low - 1]);
            if (size_of(a[low * n + low - 1]) <= DBL_EPSILON * beside)
                break;
            low--;
        }
        if (low == high) {
            values[high] = a[high * n + high];
            high--;
            rounds = 0;
        } else if (low + 1 == high) {
            const number *const row = a + low * n, *const next = row + n;
            of_two(row[low], row[high], next[low], next[high], values + low);
            high -= 2;
            rounds = 0;
        } else {
            if (++rounds > ROUNDS)
                return 0;
            const number *const row = a + (high - 1) * n, *const next = row + n;
            number two[2];
            of_two(row[high - 1], row[high], next[high - 1], next[high], two);
            number last = next[high];
            number shift = square_of(minus(two[0], last)) < square_of(minus(two[1], last)) ? two[0] : two[1];
            if (rounds % 10 == 0)
                shift = plus(shift, (number){size_of(next[high - 1]), 0.0});
            step(n, a, low, high, shift);
        }
    }
    return 1;
}

int pi2_matrix_eigenvalues(int n, number *a, number *values)
{
    /* A row or a column with nothing beside the diagonal has that as one, and is left out. */
    int left[PI2_MATRIX_ROWS], count = n, found = 0;
    for (int k = 0; k < n; k++)
        left[k] = k;
    for (int k = 0; k < n * n; k++)
        if (!isfinite(a[k].re) || !isfinite(a[k].im))
            return 0;
    for (int i = 0; i < count; i++) {
        int row = 1, column = 1;
        for (int j = 0; j < count; j++)
            if (j != i) {
                row &= square_of(a[left[i] * n + left[j]]) == 0.0;
                column &= square_of(a[left[j] * n + left[i]]) == 0.0;
            }
        if (row || column) {
            values[found++] = a[left[i] * n + left[i]];
            memmove(left + i, left + i + 1, sizeof(int) * (size_t)(count - i - 1));
            count--;
            i = -1;
        }
    }
    number rest[ROOM];
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            rest[i * count + j] = a[left[i] * n + left[j]];
    if (count == 2) {
        of_two(rest[0], rest[1], rest[2], rest[3], values + found);
        return 1;
    }
    return count == 0 || by_steps(count, rest, values + found);
}

double pi2_spectral_radius(int n, const double *a)
{
    number matrix[ROOM], values[PI2_MATRIX_ROWS];
    for (int k = 0; k < n * n; k++)
        matrix[k] = (number){a[k], 0.0};
    if (!pi2_matrix_eigenvalues(n, matrix, values))
        return INFINITY;
    double most = 0.0;
    for (int k = 0; k < n; k++)
        most = fmax(most, size_of(values[k]));
    return most;
}

/* --- singular values ------------------------------------------------------------------------- */

double pi2_smallest_singular_value(int n, number *a)
{
    for (int k = 0; k < n; k++)
        a[k * n + k].re += 1.0;
    if (n == 1)
        return size_of(a[0]);
    /* Columns are turned into one another, two at a time, until all are orthogonal. */
    for (int round = 0; round < ROUNDS; round++) {
        int turns = 0;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                double first = 0.0, second = 0.0;
                number both = {0.0, 0.0};
                for (int i = 0; i < n; i++) {
                    first += square_of(a[i * n + p]);
                    second += square_of(a[i * n + q]);
                    both = plus(both, times(conjugate(a[i * n + p]), a[i * n + q]));
                }
                const double size = size_of(both);
                if (!(size > DBL_EPSILON * sqrt(first * second)))
                    continue;
                turns++;
                const double zeta = 0.5 * (second - first) / size;
                const double t = (zeta < 0.0 ? -1.0 : 1.0) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
                const double cosine = 1.0 / sqrt(1.0 + t * t), sine = t * cosine;
                const number back = scaled(1.0 / size, conjugate(both));
                for (int i = 0; i < n; i++) {
                    const number x = a[i * n + p], y = times(a[i * n + q], back);
                    a[i * n + p] = minus(scaled(cosine, x), scaled(sine, y));
                    a[i * n + q] = plus(scaled(sine, x), scaled(cosine, y));
                }
            }
        if (!turns)
            break;
    }
    double least = INFINITY;
    for (int j = 0; j < n; j++) {
        double size = 0.0;
        for (int i = 0; i < n; i++)
            size += square_of(a[i * n + j]);
        least = fmin(least, size);
    }
    return sqrt(least);
}
