#include "margins/proofs/mixtures.h"

#include <math.h>
#include <stdlib.h>

#include "elementary.h"

/* A value of F within `radius` of (re, im), and whether the frequency adds more to the radius than the load. */
typedef struct {
    double re, im, radius;
    int by_w;
} disc;

/* What is the same for all cells of a box: C(jw) without 1/E, and the bounds of its slope. */
typedef struct {
    double re, im, size, slope, low;
    int good;
} controller;

static double larger(double a, double b) { return a > b ? a : b; }

static double size_of(double re, double im) { return sqrt(re * re + im * im); }

static controller controller_at(const pi2_mixture_law *law, const pi2_mixture_box *b)
{
    const double along = law->gain * b->w, square = law->integral * law->integral + along * along, size = sqrt(square);
    const double least = size - law->gain * b->dw, low = larger(b->w - b->dw, 0.0), near = law->gain / least;
    /* j gain/f - 1/w - jT/2, f = alpha/T + j gain w; and what its own slope adds */
    const double re = law->gain * along / square - 1.0 / b->w;
    const double im = law->gain * law->integral / square - 0.5 * law->interval;
    /* f e^{-jwT/2}/(jw) */
    const double turn = 0.5 * b->w * law->interval, c = cos(turn), s = sin(turn);
    const double fr = law->integral * c + along * s, fi = along * c - law->integral * s;
    return (controller){fi / b->w, -fr / b->w, size / b->w,
                        size_of(re, im) + (near * near + 1.0 / (low * low)) * b->dw, low, least > 0.0 && low > 0.0};
}

static disc disc_of(const pi2_mixture_law *law, const pi2_mixture_box *b, const controller *f, const pi2_mixture_cell *cell)
{
    const double v = b->w * cell->rtt, dv = b->dw * (cell->rtt + cell->half) + b->w * cell->half;
    const double half = cell->scalable ? 1.0 : 0.5, classic = cell->scalable ? 0.0 : 1.0, top = b->load + b->dload;
    const double c = cos(v), s = sin(v); /* e^{-jv} is c - js */
    const double er = half * b->load * (classic + c), ei = half * (v * cell->omega - b->load * s);
    const double square = er * er + ei * ei, size = sqrt(square), over = 1.0 / square;
    const double steep = half * (cell->omega + top);
    const double least = larger(size - steep * dv - b->dload, half * larger(v - dv, 0.0) * (cell->omega - top));
    const double near = 1.0 / least, turns = steep * near * near;
    /* -j - e'/e with e' = half (j omega - j p' e^{-jv}) */
    const double sr = -half * b->load * s, si = half * (cell->omega - b->load * c);
    const double re = -(sr * er + si * ei) * over, im = -1.0 - (si * er - sr * ei) * over;
    const double by_v = size_of(re, im) + (half * top * near + turns * steep) * dv + (half * near + turns) * b->dload;
    const double hr = half * (classic + c), hi = half * s;
    double by_p = size_of(hr, hi) / size + (half * near + turns) * dv + b->dload * near * near;
    double scale = 1.0;
    if (law->factor > 0.0) {
        scale = law->factor / b->load;
        by_p += 1.0 / larger(b->load - b->dload, 0.0);
    }
    const double from_w = f->slope * b->dw + by_v * b->dw * (cell->rtt + cell->half), from_r = by_v * b->w * cell->half;
    const double from_p = by_p * b->dload, rho = from_w + from_r + from_p;
    const int by_w = from_w / larger(from_w + from_p, 1e-300) > 0.5;
    if (!(f->good && least > 0.0 && rho < law->largest))
        return (disc){0.0, 0.0, INFINITY, by_w};
    /* C e^{-jv}/E */
    const double cr = f->re * c + f->im * s, ci = f->im * c - f->re * s, last = scale * f->size / size;
    disc found = {scale * (cr * er + ci * ei) * over + 1.0 / cell->rtt, scale * (ci * er - cr * ei) * over + b->w, 0.0, by_w};
    found.radius = b->dw + cell->half / (cell->rtt * (cell->rtt - cell->half)) + last * expm1(rho)
                   + law->rounding * (last + b->w + 1.0 / cell->rtt);
    if (law->exact) {
        const double share = half * b->load / cell->rtt * over;
        found.re += share * ((1.0 - c) * er + s * ei);
        found.im += share * (s * er - (1.0 - c) * ei);
        const double most = v + dv < 2.0 ? v + dv : 2.0;
        double moved = top * (1.0 + most * steep * near) * dv + most * (1.0 + top * near) * b->dload;
        moved += top * most * cell->half / cell->rtt;
        found.radius += moved * half / (least * (cell->rtt - cell->half));
    }
    return found;
}

/* Whether the discs of a box lie in one open half-plane; else which side to cut, 0: that of w, 1: that of p'. */
static int lie_in_half(const pi2_mixture_law *law, const pi2_mixture_box *b, size_t cells, const pi2_mixture_cell *cell,
                       disc *discs, int *side)
{
    const controller f = controller_at(law, b);
    double sum_re = 0.0, sum_im = 0.0;
    for (size_t i = 0; i < cells; i++) {
        discs[i] = disc_of(law, b, &f, &cell[i]);
        const double size = size_of(discs[i].re, discs[i].im);
        if (!(discs[i].radius < size)) { /* this one reaches 0 */
            *side = !discs[i].by_w;
            return 0;
        }
        sum_re += discs[i].re / size;
        sum_im += discs[i].im / size;
    }
    /* Angles are counted from that of the sum, so that none of them is near the cut at 180 degrees. */
    double high = -INFINITY, low = INFINITY, far = 0.0, most = -1.0;
    for (size_t i = 0; i < cells; i++) {
        const disc *one = &discs[i];
        const double angle = atan2(one->im * sum_re - one->re * sum_im, one->re * sum_re + one->im * sum_im);
        const double reach = asin(one->radius / size_of(one->re, one->im));
        high = larger(high, angle + reach);
        low = low < angle - reach ? low : angle - reach;
        far = larger(far, fabs(angle) + reach);
        if (reach > most) {
            most = reach;
            *side = !one->by_w;
        }
    }
    return far < PI2_PI && high - low < PI2_PI;
}

static void halve(pi2_mixture_box *low, pi2_mixture_box *high, int side)
{
    if (side == 0)
        low->dw /= 2.0;
    else
        low->dload /= 2.0;
    *high = *low;
    if (side == 0) {
        high->w += high->dw;
        low->w -= low->dw;
    } else {
        high->load += high->dload;
        low->load -= low->dload;
    }
}

size_t pi2_mixture_boxes(const pi2_mixture_law *law, size_t cells, const pi2_mixture_cell *cell, size_t boxes,
                         const pi2_mixture_box *box, size_t most)
{
    disc *const discs = malloc((cells + !cells) * sizeof *discs);
    pi2_mixture_box *const left = malloc((most + 2) * sizeof *left); /* of one path: a box looked at leaves one more */
    size_t done = 0;
    for (size_t i = 0; discs && left && i < boxes && done <= most; i++) {
        size_t count = 1;
        left[0] = box[i];
        while (count && done <= most) {
            pi2_mixture_box *const top = &left[count - 1];
            int side = 0;
            done++;
            if (lie_in_half(law, top, cells, cell, discs, &side)) {
                count--;
                continue;
            }
            halve(top, top + 1, side);
            count++;
        }
    }
    const int whole = discs && left;
    free(discs);
    free(left);
    return whole ? (done > most ? most + 1 : done) : 0;
}
