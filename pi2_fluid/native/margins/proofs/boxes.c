#include "margins/proofs/boxes.h"

#include <float.h>
#include <math.h>

#include "elementary.h"
#include "margins/aliases/discs.h"

#define ALL_ALIASES (14.0 * 1.2020569031595943) /* zeta(3) */

/* F at the centre, F'/F, a bound of its change, and the least and the largest |F|. */
typedef struct {
    double re, im, slope_re, slope_im, bend, least, most;
} controller;

static double larger(double a, double b) { return a > b ? a : b; }

static double smaller(double a, double b) { return a < b ? a : b; }

static double size_of(double re, double im) { return sqrt(re * re + im * im); }

/* A bound of the sum of |G| over the aliases with |k| > `aliases`; c = 2 pi R/T. */
static double tail(double c, double mu, double echo, int aliases)
{
    if (aliases == 0)
        return ALL_ALIASES / (c * c * c * (1.0 - mu));
    const double q = smaller(echo * mu / larger(c * aliases, DBL_MIN), mu);
    return 1.0 / (c * c * c * ((double)aliases * aliases) * (1.0 - q));
}

static controller controller_at(const pi2_proof *p, double w, double dw)
{
    double re, im, first_re, first_im, steep, curved = 0.0;
    const double turn = w * p->interval;
    if (p->update == PI2_SAMPLED) {
        const double c = cos(turn), s = sin(turn);
        re = (p->alpha + p->beta * (1.0 - c)) / p->interval;
        im = p->beta * s / p->interval;
        first_re = p->beta * s; /* j beta e^{-jwT} */
        first_im = p->beta * c;
        steep = p->beta;
        curved = p->beta * p->interval;
    } else {
        steep = p->beta + p->alpha / 2.0;
        re = p->alpha / p->interval;
        im = steep * w;
        first_re = 0.0;
        first_im = steep;
    }
    const double square = re * re + im * im, size = sqrt(square), least = size - steep * dw, near = steep / least;
    controller found = {re, im, (first_re * re + first_im * im) / square, (first_im * re - first_re * im) / square,
                        least > 0.0 ? curved / least + near * near : INFINITY, least, size + steep * dw};
    if (p->update == PI2_DELAYED) {
        const double c = cos(0.5 * turn), s = sin(0.5 * turn);
        found.re = re * c + im * s;
        found.im = im * c - re * s;
        found.slope_im -= 0.5 * p->interval;
    }
    return found;
}

/* What all terms that are left out are at most together. */
static double left_out(const pi2_proof *p, const pi2_proof_box *b, double most, int aliases)
{
    if (p->update != PI2_SAMPLED)
        return 0.0;
    const double mu = b->centre[2], dmu = b->half[2], rtt = larger(b->centre[1] - b->half[1], 0.0);
    const double m = p->falling ? p->m / larger(mu - dmu, 0.0) : p->m;
    return m * rtt * rtt * most * tail(2.0 * PI2_PI / p->interval * rtt, mu + dmu, p->echo, aliases);
}

/* A lower bound of |L| in a box at its highest frequency and below. */
static double least_size(const pi2_proof *p, const pi2_proof_box *b)
{
    const double w = b->centre[0] + b->half[0], short_rtt = b->centre[1] - b->half[1], long_rtt = b->centre[1] + b->half[1];
    const double few = larger(b->centre[2] - b->half[2], 0.0), many = b->centre[2] + b->half[2];
    double aliases = 0.0;
    if (p->update == PI2_SAMPLED) {
        const double m = p->falling ? p->m / few : p->m, most = (p->alpha + 2.0 * p->beta) / p->interval;
        aliases = m * short_rtt * short_rtt * most * tail(2.0 * PI2_PI / p->interval * short_rtt, many, 2.0, 0);
    }
    const double echo = p->exact ? many * w * short_rtt : 0.0, turn = w * long_rtt;
    const double damped = (w * short_rtt + echo + 2.0 * many) * sqrt(1.0 + turn * turn);
    const double m = p->falling ? p->m / many : p->m;
    return m * p->alpha / p->interval * short_rtt / (w * damped) - aliases;
}

pi2_proof_disc pi2_proof_enclose(const pi2_proof *p, const pi2_proof_box *b, int aliases)
{
    const pi2_disc_family family = {p->scalable, p->exact, p->falling, p->echo, p->steepest, p->bend,
                                    2.0 * PI2_PI / p->interval, p->largest, aliases};
    const controller f = controller_at(p, b->centre[0], b->half[0]);
    double re, im, whole, spread, good, by[3];
    pi2_disc_terms(&family, 1, (pi2_disc_boxes){&b->centre[0], &b->centre[1], &b->centre[2], &b->half[0], &b->half[1],
                                                &b->half[2], &f.slope_re, &f.slope_im, &f.bend},
                   (pi2_disc_sums){&re, &im, &whole, &spread, &good, &by[0], &by[1], &by[2]});
    const double rtt = b->centre[1], mu = b->centre[2], scale = (p->falling ? p->m / mu : p->m) * rtt * rtt;
    pi2_proof_disc disc = {scale * (f.re * re - f.im * im), scale * (f.re * im + f.im * re), INFINITY, 0};
    if (good > 0.0 && f.least > 0.0) {
        disc.radius = scale * size_of(f.re, f.im) * (spread + p->rounding * whole) + left_out(p, b, f.most, aliases);
    } else { /* where a bound has no value yet, the box is cut across its relatively largest side */
        by[0] = b->half[0] / b->centre[0];
        by[1] = b->half[1] / rtt;
        by[2] = b->half[2] / larger(mu + b->half[2], 1e-300) / 4.0;
    }
    for (int side = 1; side < 3; side++)
        if (by[side] > by[disc.widest])
            disc.widest = side;
    return disc;
}

double pi2_proof_distance(const pi2_proof *p, double re, double im)
{
    const double turn = atan2(-im, -re), size = size_of(re, im), around = size_of(re + 1.0, im);
    const double segment = size_of(re - larger(-1.0, smaller(re, -p->near)), im);
    double arc = fabs(size - 1.0);
    if (!(turn >= 0.0 && turn <= p->phase)) /* cos(phase - pi) is -cos(phase), and so is the sine */
        arc = smaller(around, size_of(re + cos(p->phase), im + sin(p->phase)));
    return smaller(smaller(segment, arc), around - p->modulus);
}

size_t pi2_proof_left(const pi2_proof *p, size_t n, pi2_proof_box *boxes, pi2_proof_disc *discs, double *terms)
{
    /* Low frequencies first: there |L| is large, and varies too much for discs of large boxes. */
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (!(least_size(p, &boxes[i]) > p->far))
            boxes[left++] = boxes[i];
    /* Where the RTT is long the aliases are small: a bound of all of them does for most boxes. */
    const int counts[] = {0, p->aliases};
    for (int k = 0; k < (p->aliases ? 2 : 1); k++) {
        const size_t looked_at = left;
        *terms += (double)looked_at * (2 * counts[k] + 1);
        left = 0;
        for (size_t i = 0; i < looked_at; i++) {
            const pi2_proof_disc disc = pi2_proof_enclose(p, &boxes[i], counts[k]);
            if (pi2_proof_distance(p, disc.re, disc.im) > disc.radius)
                continue;
            boxes[left] = boxes[i];
            discs[left++] = disc;
        }
    }
    return left;
}

void pi2_proof_halves(size_t n, const pi2_proof_disc *discs, const pi2_proof_box *boxes, pi2_proof_box *halves)
{
    for (size_t i = 0; i < n; i++) {
        const int side = discs[i].widest;
        pi2_proof_box half = boxes[i];
        half.half[side] /= 2.0;
        const double step = half.half[side];
        halves[i] = halves[n + i] = half;
        halves[i].centre[side] -= step;
        halves[n + i].centre[side] += step;
    }
}
