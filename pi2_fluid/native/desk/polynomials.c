#include "desk/polynomials.h"

#include <float.h>
#include <math.h>

static void add_product(pi2_in_s_and_e *to, double factor, const pi2_in_s_and_e *a, const pi2_in_s_and_e *b, int most)
{
    for (int i = 0; i <= most; i++)
        for (int j = 0; i + j <= most; j++) {
            const double one = factor * a->of[i][j];
            if (one == 0.0)
                continue;
            for (int k = 0; i + j + k <= most; k++)
                for (int m = 0; i + j + k + m <= most; m++)
                    to->of[i + k][j + m] += one * b->of[k][m];
        }
}

pi2_in_s_and_e pi2_determinant(int n, pi2_in_s_and_e entry[PI2_STATES + 1][PI2_STATES + 1])
{
    /* Of the last rows, by which columns they have: a bit for each. */
    pi2_in_s_and_e minor[1 << (PI2_STATES + 1)];
    minor[0] = (pi2_in_s_and_e){{{1.0}}};
    for (int columns = 1; columns < 1 << n; columns++) {
        int rows = 0, place = 0;
        for (int j = 0; j < n; j++)
            rows += columns >> j & 1;
        minor[columns] = (pi2_in_s_and_e){{{0.0}}};
        for (int j = 0; j < n; j++)
            if (columns >> j & 1)
                add_product(&minor[columns], place++ % 2 ? -1.0 : 1.0, &entry[n - rows][j], &minor[columns & ~(1 << j)],
                            PI2_STATES);
    }
    return minor[(1 << n) - 1];
}

static int quadratic(const double *c, double *re, double *im)
{
    const double half = -0.5 * c[1] / c[2], square = half * half - c[0] / c[2];
    if (square < 0.0) {
        re[0] = re[1] = half;
        im[0] = sqrt(-square);
        im[1] = -im[0];
    } else {
        const double far = half + (half < 0.0 ? -1.0 : 1.0) * sqrt(square);
        re[0] = far;
        re[1] = c[0] / c[2] / far;
        im[0] = im[1] = 0.0;
    }
    return 2;
}

/* All at once, by O. Aberth's method (Mathematics of Computation 27, 1973). */
static int several(const double *c, int degree, double *re, double *im)
{
    enum { MOST_STEPS = 400 };
    /* Moduli to begin with from those of pairs of coefficients, so that very different roots are found, too. */
    for (int k = 0; k < degree; k++) {
        const double ratio = c[k] != 0.0 && c[k + 1] != 0.0 ? fabs(c[k] / c[k + 1]) : pow(fabs(c[0] / c[degree]), 1.0 / degree);
        const double angle = 0.4 + 6.283185307179586 * k / degree;
        re[k] = ratio * cos(angle);
        im[k] = ratio * sin(angle);
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        int moving = 0;
        for (int k = 0; k < degree; k++) {
            /* p/p' by Horner's rule; outside the unit circle of its own scale that of the reversed one does not overflow,
             * but coefficients here are far from that. */
            double pr = c[degree], pi = 0.0, dr = 0.0, di = 0.0;
            for (int j = degree - 1; j >= 0; j--) {
                const double er = dr * re[k] - di * im[k] + pr, ei = dr * im[k] + di * re[k] + pi;
                const double qr = pr * re[k] - pi * im[k] + c[j], qi = pr * im[k] + pi * re[k];
                dr = er;
                di = ei;
                pr = qr;
                pi = qi;
            }
            double ar = dr, ai = di; /* p' - p sum of 1/(z - others) */
            for (int j = 0; j < degree; j++) {
                if (j == k)
                    continue;
                const double xr = re[k] - re[j], xi = im[k] - im[j], size = xr * xr + xi * xi;
                if (size == 0.0)
                    continue;
                const double ir = xr / size, ii = -xi / size;
                ar -= pr * ir - pi * ii;
                ai -= pr * ii + pi * ir;
            }
            const double size = ar * ar + ai * ai;
            if (size == 0.0)
                continue;
            const double wr = (pr * ar + pi * ai) / size, wi = (pi * ar - pr * ai) / size;
            if (!isfinite(wr) || !isfinite(wi))
                return -1;
            re[k] -= wr;
            im[k] -= wi;
            moving |= hypot(wr, wi) > 1e-12 * hypot(re[k], im[k]);
        }
        if (!moving)
            return degree;
    }
    return degree; /* as near as a root of several that are alike is found */
}

int pi2_polynomial_roots(const double *rising, int degree, double *re, double *im)
{
    while (degree > 0 && rising[degree] == 0.0)
        degree--;
    while (degree > 0 && rising[0] == 0.0) {
        rising++;
        degree--;
    }
    if (degree > PI2_MOST_ROOTS)
        return -1;
    if (degree <= 0)
        return 0;
    if (degree == 1) {
        re[0] = -rising[0] / rising[1];
        im[0] = 0.0;
        return 1;
    }
    return degree == 2 ? quadratic(rising, re, im) : several(rising, degree, re, im);
}
