#include "margins/search/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"

#define TURN (2.0 * PI2_PI)
/* Largest change of phase (rad) or of ln|f| between neighbours. */
#define STEP 0.4
enum { PER_DECADE = 24, ROUNDS = 60 };
#define MOST_POINTS 2000000.0

/* --- frequencies ----------------------------------------------------------------------------- */

void pi2_path_free(pi2_path *path)
{
    free(path->w);
    free(path->values);
    free(path->followed);
    *path = (pi2_path){0};
}

static int reserve(pi2_path *path, size_t n)
{
    if (n <= path->room)
        return 1;
    const size_t room = n + n / 2;
    double *const w = realloc(path->w, room * sizeof *w);
    path->w = w ? w : path->w;
    double *const values = realloc(path->values, 2 * room * sizeof *values);
    path->values = values ? values : path->values;
    unsigned char *const followed = realloc(path->followed, room);
    path->followed = followed ? followed : path->followed;
    if (!w || !values || !followed)
        return 0;
    path->room = room;
    return 1;
}

pi2_outcome pi2_path_grid(pi2_path *path, double low, double high, double spacing, double finer)
{
    const double asked = ceil(finer * PER_DECADE * log10(high / low)) + 1.0;
    if (!(asked <= MOST_POINTS))
        return PI2_TOO_OFTEN;
    const size_t points = asked < 2.0 ? 2 : (size_t)asked;
    const double step = log(high / low) / (double)(points - 1), ratio = exp(step);
    if (!reserve(path, points))
        return PI2_NO_MEMORY;
    path->n = 0;
    double w = low;
    for (size_t i = 0; i < points; i++) {
        /* products of the ratio lose what it is rounded by: not for long */
        w = i + 1 == points ? high : i % 32 ? w * ratio : low * exp((double)i * step);
        if (i && w - path->w[i - 1] > spacing) {
            const double start = path->w[i - 1], count = ceil((high - start) / spacing);
            if (!(count <= MOST_POINTS))
                return PI2_TOO_OFTEN;
            if (!reserve(path, i + (size_t)count))
                return PI2_NO_MEMORY;
            for (size_t k = 1; k <= (size_t)count; k++)
                path->w[i - 1 + k] = k == (size_t)count ? high : start + (high - start) * ((double)k / count);
            path->n = i + (size_t)count;
            return PI2_DONE;
        }
        path->w[i] = w;
    }
    path->n = points;
    return PI2_DONE;
}

pi2_outcome pi2_path_include(pi2_path *path, size_t n, const double *w)
{
    const double first = path->w[0], last = path->w[path->n - 1];
    size_t from = 0, until = n;
    while (from < n && w[from] <= first)
        from++;
    while (until > from && w[until - 1] >= last)
        until--;
    if (until == from)
        return PI2_DONE;
    if (!reserve(path, path->n + until - from))
        return PI2_NO_MEMORY;
    size_t old = path->n, new = until, to = path->n + until - from;
    path->n = to;
    while (new > from) /* from the back, in place; the first one is never reached */
        path->w[--to] = path->w[old - 1] > w[new - 1] ? path->w[--old] : w[--new];
    size_t kept = 1;
    for (size_t i = 1; i < path->n; i++) /* each once */
        if (path->w[i] != path->w[kept - 1])
            path->w[kept++] = path->w[i];
    path->n = kept;
    return PI2_DONE;
}

/* --- following ------------------------------------------------------------------------------- */

static void insert(pi2_path *path, size_t at, double w, const double *value, unsigned char followed)
{
    path->w[at] = w;
    path->values[2 * at] = value[0];
    path->values[2 * at + 1] = value[1];
    path->followed[at] = followed;
}

/* b/a: where |b/a - 1| says whether |ln b/a| < STEP, it is not computed. */
static int short_step(const double *a, const double *b)
{
    const double size = a[0] * a[0] + a[1] * a[1];
    const double re = (b[0] * a[0] + b[1] * a[1]) / size, im = (b[1] * a[0] - b[0] * a[1]) / size;
    const double away = (re - 1.0) * (re - 1.0) + im * im;
    if (away < 0.32 * 0.32) /* |ln(1 + x)| <= -ln(1 - |x|) */
        return 1;
    if (!(away < 0.5 * 0.5)) /* |x| <= e^|ln(1 + x)| - 1 */
        return 0;
    return hypot(0.5 * log(re * re + im * im), atan2(im, re)) <= STEP;
}

pi2_outcome pi2_path_follow(pi2_path *path, const pi2_curve *curve, pi2_path *spare)
{
    if (!curve->at(curve->of, path->n, path->w, path->values))
        return PI2_NO_MEMORY;
    memset(path->followed, 0, path->n);
    for (int round = 0; round < ROUNDS; round++) {
        size_t wide = 0;
        for (size_t i = 0; i + 1 < path->n; i++)
            if (!path->followed[i]) {
                path->followed[i] = short_step(path->values + 2 * i, path->values + 2 * i + 2)
                    || !(path->w[i + 1] - path->w[i] > 1e-12 * path->w[i + 1]);
                wide += !path->followed[i];
            }
        if (!wide)
            return PI2_DONE;
        if ((double)path->n > MOST_POINTS)
            break;
        if (!reserve(spare, path->n + wide))
            return PI2_NO_MEMORY;
        double *const middle = spare->w, *const found = spare->values;
        size_t left = 0;
        for (size_t i = 0; i + 1 < path->n; i++)
            if (!path->followed[i])
                middle[left++] = sqrt(path->w[i] * path->w[i + 1]);
        if (!curve->at(curve->of, wide, middle, found) || !reserve(path, path->n + wide))
            return PI2_NO_MEMORY;
        const size_t before = path->n;
        path->n += wide;
        for (size_t i = before; i-- > 0 && left > 0;) { /* from the back, in place */
            unsigned char short_ = path->followed[i];
            if (i + 1 < before && !short_) {
                insert(path, i + left, middle[left - 1], found + 2 * (left - 1), 0);
                left--;
            }
            insert(path, i + left, path->w[i], path->values + 2 * i, short_);
        }
    }
    return PI2_TOO_OFTEN;
}

/* --- turns ----------------------------------------------------------------------------------- */

double pi2_angle_between(const double *a, const double *b)
{
    return atan2(b[1] * a[0] - b[0] * a[1], b[0] * a[0] + b[1] * a[1]);
}

/* How far from real, in half turns. */
static double off_real(const double *value)
{
    const double half = atan2(value[1], value[0]) / PI2_PI;
    return half - round(half);
}

int pi2_zeros_of(double change, const double *first, const double *last)
{
    const double count = -change / PI2_PI + off_real(last) - off_real(first), whole = round(count);
    return fabs(count - whole) < 1e-6 && fabs(whole) < 1e9 ? (int)whole : PI2_ON_CONTOUR;
}

double pi2_path_change(const pi2_path *path)
{
    double change = 0.0;
    for (size_t i = 0; i < path->n; i++) {
        const double *const at = path->values + 2 * i;
        if (!(at[0] * at[0] + at[1] * at[1] > 0.0))
            return NAN;
        change += i ? pi2_angle_between(at - 2, at) : 0.0;
    }
    return change;
}

/* Whether a curve has turned by less than 1.5 from one point to the next; not if either is 0 or not a number. */
static int turns_little(const double *a, const double *b)
{
    const double along = a[0] * b[0] + a[1] * b[1], across = a[0] * b[1] - a[1] * b[0];
    return fabs(across) < 14.101419947171719 * along; /* tan(1.5) */
}

pi2_outcome pi2_path_turns(const pi2_path *path, const pi2_curve *rest, double end, int *zeros)
{
    enum { TAIL = 200 };
    const double *const first = path->values;
    double last[2] = {first[2 * path->n - 2], first[2 * path->n - 1]}, turns = 0.0;
    *zeros = PI2_ON_CONTOUR;
    for (size_t i = 0; i + 1 < path->n; i++) {
        if (!turns_little(first + 2 * i, first + 2 * i + 2))
            return PI2_DONE;
        turns += pi2_turns_between(first + 2 * i, first + 2 * i + 2);
    }
    double change = atan2(last[1], last[0]) - atan2(first[1], first[0]) + TURN * turns;
    const double from = path->w[path->n - 1];
    if (rest && from < end) {
        double w[TAIL], tail[2 * TAIL];
        for (int i = 0; i < TAIL; i++)
            w[i] = from + (end - from) * i / (TAIL - 1);
        if (!rest->at(rest->of, TAIL, w, tail))
            return PI2_NO_MEMORY;
        for (int i = 0; i + 1 < TAIL; i++)
            change += pi2_angle_between(tail + 2 * i, tail + 2 * i + 2);
        change -= pi2_angle_between(tail, last);
        memcpy(last, tail + 2 * TAIL - 2, sizeof last);
    }
    *zeros = pi2_zeros_of(change, first, last);
    return PI2_DONE;
}
