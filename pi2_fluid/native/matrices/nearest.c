#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matrices/algebra.h"
#include "matrices/crossings.h"

#define ALMOST 0.9 /* of 1, which is all there is */
enum { OCTAVES = 6, PARTS = 12, NARROWINGS = 10, ROWS = PI2_MATRIX_ROWS };

typedef struct {
    size_t n, room;
    double *x, *size; /* ln w, and the smallest singular value there */
} places;

static int include(places *to, double x, double size)
{
    if (to->n == to->room) {
        const size_t room = 2 * to->room + 64;
        double *const more = realloc(to->x, room * sizeof *more);
        to->x = more ? more : to->x;
        double *const sizes = realloc(to->size, room * sizeof *sizes);
        to->size = sizes ? sizes : to->size;
        if (!more || !sizes)
            return 0;
        to->room = room;
    }
    to->x[to->n] = x;
    to->size[to->n++] = size;
    return 1;
}

/* NaN if there is no matrix. `most` becomes the largest sum of squares of L, if that is larger. */
static double smallest_at(const pi2_matrices *response, double w, double *most)
{
    number matrix[ROWS * ROWS];
    if (!response->at(response->of, 1, &w, matrix))
        return NAN;
    if (most) {
        double sum = 0.0;
        for (int k = 0; k < response->rows * response->rows; k++)
            sum += matrix[k].re * matrix[k].re + matrix[k].im * matrix[k].im;
        *most = fmax(*most, sum);
    }
    return pi2_smallest_singular_value(response->rows, matrix);
}

static double narrow(const pi2_matrices *response, double low, double high)
{
    double least = INFINITY;
    for (int round = 0; round < NARROWINGS; round++) {
        int best = 0;
        double found = INFINITY;
        for (int k = 0; k <= PARTS; k++) {
            const double size = smallest_at(response, exp(low + (high - low) * k / PARTS), NULL);
            if (isnan(size))
                return NAN;
            if (size < found) {
                found = size;
                best = k;
            }
        }
        const double step = (high - low) / PARTS, from = low;
        low = from + step * (best > 0 ? best - 1 : 0);
        high = from + step * (best < PARTS ? best + 1 : PARTS);
        least = found;
    }
    return least;
}

static pi2_loci_outcome look(const pi2_matrices *response, int fades, size_t n, const double *w, places *at, double *least)
{
    double lowest = INFINITY, widest = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double size = smallest_at(response, w[i], NULL);
        if (isnan(size))
            return PI2_LOCI_ELSEWHERE;
        if (!include(at, log(w[i]), size))
            return PI2_LOCI_NO_MEMORY;
        lowest = fmin(lowest, size);
        widest = i ? fmax(widest, w[i] - w[i - 1]) : 0.0;
    }
    /* Beyond the last crossover that counts L may still be large: of a loop that is not stable, or of one whose L is no
     * multiple of a unitary matrix. Its norm is at most the root of the sum of its squares. */
    double from = w[n - 1];
    for (int octave = 0; fades && octave < OCTAVES; octave++) {
        const double count = 1.0 + ceil(from / widest);
        double most = 0.0, last = from;
        for (double k = 1.0; k <= count; k++) {
            last = from + widest * k;
            const double size = smallest_at(response, last, &most);
            if (isnan(size))
                return PI2_LOCI_ELSEWHERE;
            if (!include(at, log(last), size))
                return PI2_LOCI_NO_MEMORY;
            lowest = fmin(lowest, size);
        }
        from = last;
        if (sqrt(most) < 1.0 - fmin(lowest, ALMOST))
            break;
    }
    *least = 1.0;
    for (size_t i = 0; i < at->n; i++) {
        const double size = at->size[i], before = i ? at->size[i - 1] : INFINITY;
        const double after = i + 1 < at->n ? at->size[i + 1] : INFINITY;
        if (!(size <= before && size <= after && size < lowest + 0.5 * (1.0 + lowest)))
            continue;
        const double found = narrow(response, at->x[i ? i - 1 : 0], at->x[i + 1 < at->n ? i + 1 : i]);
        if (isnan(found))
            return PI2_LOCI_ELSEWHERE;
        *least = fmin(*least, found);
    }
    return PI2_LOCI_FOUND;
}

pi2_loci_outcome pi2_nearest_to_singular(const pi2_matrices *response, int fades, size_t n, const double *w, double *least)
{
    places at = {0};
    const pi2_loci_outcome outcome = look(response, fades, n, w, &at, least);
    free(at.x);
    free(at.size);
    return outcome;
}
