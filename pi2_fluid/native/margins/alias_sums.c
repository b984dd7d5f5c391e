#include "margins/alias_sums.h"

#include <math.h>
#include <stdlib.h>

#include "elementary.h"

/* Aliases at once, real and imaginary parts apart: loops over them are what a compiler makes vector code of. */
#define LANES 16

typedef struct {
    double re[LANES], im[LANES];
} line;

typedef struct {
    double re, im;
} number;

/* e^{-s delay} */
static number late(const double *s, double delay)
{
    const double size = s[0] != 0.0 ? exp(-s[0] * delay) : 1.0, angle = -s[1] * delay;
    return (number){size * cos(angle), size * sin(angle)};
}

static number times(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* What the sum over all k of e^{-s_k delay} times order[0]/(s_k + rate)^2 + order[1]/(s_k + rate)^3
 * + order[2]/(s_k + rate)^4, over T, takes that does not depend on s: with n = delay/T and x = rate T it is the sum over
 * m >= n of the same orders of (m - n)^{1, 2, 3}/{1, 2, 6} e^{-x (m - n)} y^m, y = e^{-sT}. */
typedef struct {
    double first; /* s: the first m >= n, times T */
    double decay; /* e^{-x} */
    double on[4]; /* of the sums over m >= 0 of m^{0, 1, 2, 3} q^m, q = e^{-x} y */
} held;

static held hold(double T, double delay, double rate, const double *order)
{
    const double first = ceil(delay / T), d = first - delay / T, x = rate * T, fall = exp(-x * d);
    const double a = fall * order[0] * T, b = fall * order[1] * T * T / 2.0, c = fall * order[2] * T * T * T / 6.0;
    return (held){first * T, exp(-x),
                  {d * (a + d * (b + d * c)), a + d * (2.0 * b + d * 3.0 * c), b + d * 3.0 * c, c}};
}

static number held_sum(const double *s, const held *p, number y)
{
    const number q = {p->decay * y.re, p->decay * y.im};
    const double size = 1.0 / ((1.0 - q.re) * (1.0 - q.re) + q.im * q.im);
    const number one = {size * (1.0 - q.re), size * q.im}, square = times(one, one), two = times(q, square);
    const number three = times(times(two, (number){1.0 + q.re, q.im}), one);
    const number most = times(q, (number){4.0 + q.re, q.im});
    const number four = times(times(two, (number){1.0 + most.re, most.im}), square);
    const number sum = {p->on[0] * one.re + p->on[1] * two.re + p->on[2] * three.re + p->on[3] * four.re,
                        p->on[0] * one.im + p->on[1] * two.im + p->on[2] * three.im + p->on[3] * four.im};
    return times(sum, late(s, p->first));
}

/* e^{-2 pi j k x} for all aliases, line by line from k = -count - 1 on: the factor by which aliases differ in a delay.
 * Of k x the whole turns are taken off while it is exact enough to: k is small, x is rounded once. */
static void turns(double x, size_t count, size_t lines, line *to)
{
    for (size_t i = 0; i < lines * LANES; i++) {
        const double k = (double)i - (double)count - 1.0, turn = k * x, rest = turn - round(turn);
        to[i / LANES].re[i % LANES] = cos(2.0 * PI2_PI * rest);
        to[i / LANES].im[i % LANES] = -sin(2.0 * PI2_PI * rest);
    }
}

/* Lanes beyond the last alias do not count. */
static void add_up(const line *values, size_t lanes, double *sum)
{
    double re = 0.0, im = 0.0;
    for (size_t i = 0; i < lanes; i++) {
        re += values->re[i];
        im += values->im[i];
    }
    sum[0] += re;
    sum[1] += im;
}

static size_t lines_of(size_t aliases)
{
    return (aliases + LANES - 1) / LANES;
}

static size_t lanes_of(size_t aliases, size_t at)
{
    return aliases - at * LANES < LANES ? aliases - at * LANES : LANES;
}

/* --- any loop of classes with one state ------------------------------------------------------ */

/* The class's part of drive and feedback; e = e^{-sR}, at these aliases. */
static void add_class(const pi2_linear_class *p, const double s_re, const double *s_im, const number e,
                      const line *turn, line *drive, line *feedback)
{
    for (int i = 0; i < LANES; i++) {
        const double er = e.re * turn->re[i] - e.im * turn->im[i], ei = e.re * turn->im[i] + e.im * turn->re[i];
        const double dr = s_re - p->a0 - p->a1 * er, di = s_im[i] - p->a1 * ei;
        const double scale = p->weight * p->c / (dr * dr + di * di);
        const double gr = scale * dr, gi = -scale * di; /* weight c/(s - a0 - a1 e) */
        /* drive -= g b e (1 + lead s) */
        const double br = p->b * (gr * er - gi * ei), bi = p->b * (gr * ei + gi * er);
        const double ar = 1.0 + p->lead * s_re, ai = p->lead * s_im[i];
        drive->re[i] -= br * ar - bi * ai;
        drive->im[i] -= br * ai + bi * ar;
        const double cr = p->e0 + p->e1 * er, ci = p->e1 * ei;
        feedback->re[i] += p->weight * p->r + gr * cr - gi * ci;
        feedback->im[i] += gr * ci + gi * cr;
    }
}

/* rest -= e^{-s delay} sum of order[m - 2]/(s + rate)^m; u = 1/(s + rate). */
static void take_echo(const pi2_echo *p, const line *u, const number e, const line *turn, line *rest)
{
    const double two = p->order[0], three = p->order[1], four = p->order[2];
    for (int i = 0; i < LANES; i++) {
        const double ur = u->re[i], ui = u->im[i];
        const double er = e.re * turn->re[i] - e.im * turn->im[i], ei = e.re * turn->im[i] + e.im * turn->re[i];
        const double hr = four * ur + three, hi = four * ui;
        const double qr = hr * ur - hi * ui + two, qi = hr * ui + hi * ur;
        const double sr = ur * ur - ui * ui, si = 2.0 * ur * ui;
        const double fr = qr * sr - qi * si, fi = qr * si + qi * sr;
        rest->re[i] -= fr * er - fi * ei;
        rest->im[i] -= fr * ei + fi * er;
    }
}

/* What does not depend on s of a delay, and e^{-s delay}. */
typedef struct {
    double delay;
    const line *turn;
    number e;
    held sum; /* of an echo */
} delayed;

int pi2_alias_sums(size_t classes, const pi2_linear_class *cls, size_t echoes, const pi2_echo *echo, double interval,
                   size_t count, size_t n, const double *s, double *sums)
{
    const size_t aliases = 2 * count + 2, lines = lines_of(aliases), delays = classes + echoes;
    line *const turn = malloc(delays * lines * sizeof *turn);
    delayed *const of = malloc(delays * sizeof *of), *const of_echo = of + classes;
    if (delays && (!turn || !of)) {
        free(turn);
        free(of);
        return 0;
    }
    const double rate = 1.0 / interval;
    for (size_t c = 0; c < delays; c++) {
        of[c].delay = c < classes ? cls[c].rtt : echo[c - classes].delay;
        of[c].turn = turn + c * lines;
        turns(of[c].delay / interval, count, lines, turn + c * lines);
    }
    for (size_t c = 0; c < echoes; c++)
        of_echo[c].sum = hold(interval, echo[c].delay, rate, echo[c].order);
    for (size_t p = 0; p < n; p++) {
        const double *const s_p = s + 2 * p, s_re = s_p[0];
        double *const sum = sums + 2 * p;
        sum[0] = sum[1] = 0.0;
        for (size_t c = 0; c < delays; c++)
            of[c].e = late(s_p, of[c].delay);
        for (size_t at = 0; at < lines; at++) {
            line drive = {{0}, {0}}, feedback = {{0}, {0}}, rest, u;
            double s_im[LANES];
            for (int i = 0; i < LANES; i++)
                s_im[i] = s_p[1] + 2.0 * PI2_PI * ((double)(at * LANES + i) - (double)count - 1.0) / interval;
            for (size_t c = 0; c < classes; c++)
                add_class(&cls[c], s_re, s_im, of[c].e, &of[c].turn[at], &drive, &feedback);
            for (int i = 0; i < LANES; i++) {
                const double pr = s_re - feedback.re[i], pi = s_im[i] - feedback.im[i];
                const double dr = pr * s_re - pi * s_im[i], di = pr * s_im[i] + pi * s_re; /* s (s - feedback) */
                const double one = 1.0 / (dr * dr + di * di);
                rest.re[i] = one * (drive.re[i] * dr + drive.im[i] * di);
                rest.im[i] = one * (drive.im[i] * dr - drive.re[i] * di);
                const double far = s_re + rate, size = 1.0 / (far * far + s_im[i] * s_im[i]);
                u.re[i] = size * far;
                u.im[i] = -size * s_im[i];
            }
            for (size_t c = 0; c < echoes; c++)
                take_echo(&echo[c], &u, of_echo[c].e, &of_echo[c].turn[at], &rest);
            add_up(&rest, lanes_of(aliases, at), sum);
        }
        sum[0] /= interval;
        sum[1] /= interval;
        const number y = late(s_p, interval);
        for (size_t c = 0; c < echoes; c++) {
            const number whole = held_sum(s_p, &of_echo[c].sum, y);
            sum[0] += whole.re;
            sum[1] += whole.im;
        }
    }
    free(turn);
    free(of);
    return 1;
}

/* --- the loops of designs -------------------------------------------------------------------- */

/* The response less its leading terms at v + k shift; e = e^{-jv}. With `cubic` kappa is not 0. */
PI2_INLINE void design_rest(const int cubic, const pi2_design_loop *p, const double *v, const number e,
                            const line *turn, line *rest)
{
    const double mu = p->mu, near = p->near, kappa = p->kappa;
    for (int i = 0; i < LANES; i++) {
        const double x = v[i];
        const double er = e.re * turn->re[i] - e.im * turn->im[i], ei = e.re * turn->im[i] + e.im * turn->re[i];
        double hr = er, hi = ei;
        if (cubic) { /* e (1 + 2 (kappa/(jx + kappa))^2) */
            const double size = kappa / (x * x + kappa * kappa), qr = size * kappa, qi = -size * x;
            const double fr = 1.0 + 2.0 * (qr * qr - qi * qi), fi = 4.0 * qr * qi;
            hr = er * fr - ei * fi;
            hi = er * fi + ei * fr;
        }
        /* (1 + jx)(jx + mu (one + h)) + varies mu (1 - e), times jx */
        const double br = mu * (p->one + hr), bi = x + mu * hi;
        const double wr = br - x * bi + p->varies * mu * (1.0 - er), wi = bi + x * br - p->varies * mu * ei;
        const double dr = -x * wi, di = x * wr;
        const double size = 1.0 / (x * x + near * near), fr = size * near, fi = -size * x; /* 1/(jx + near) */
        const double sr = fr * fr - fi * fi, si = 2.0 * fr * fi;
        const double cr = sr * fr - si * fi, ci = sr * fi + si * fr;
        const double gr = 1.0 - mu * (er * fr - ei * fi), gi = -mu * (er * fi + ei * fr);
        const double ar = er * gr - ei * gi, ai = er * gi + ei * gr;
        const double one = 1.0 / (dr * dr + di * di);
        rest->re[i] = one * (hr * dr + hi * di) - (ar * cr - ai * ci);
        rest->im[i] = one * (hi * dr - hr * di) - (ar * ci + ai * cr);
    }
}

int pi2_design_alias_sums(size_t loops, const pi2_design_loop *loop, double interval, size_t count, size_t n, int each,
                          const double *w, double *sums)
{
    const size_t aliases = 2 * count + 2, lines = lines_of(aliases);
    line *const turn = malloc(lines * sizeof *turn);
    if (!turn)
        return 0;
    for (size_t j = 0; j < loops; j++) {
        const pi2_design_loop *const p = &loop[j];
        const double shift = 2.0 * PI2_PI * p->rtt / interval;
        turns(p->rtt / interval, count, lines, turn);
        /* in units of the round-trip time */
        const double T = interval / p->rtt;
        const held first = hold(T, 1.0, p->near, (const double[]){0.0, T, 0.0});
        const held second = hold(T, 2.0, p->near, (const double[]){0.0, 0.0, -p->mu * T});
        for (size_t i = 0; i < n; i++) {
            const double s[2] = {0.0, w[each ? j * n + i : i]};
            const number e = late(s, p->rtt);
            double *const sum = sums + 2 * (j * n + i);
            sum[0] = sum[1] = 0.0;
            for (size_t at = 0; at < lines; at++) {
                double v[LANES];
                line rest;
                for (int k = 0; k < LANES; k++)
                    v[k] = s[1] * p->rtt + shift * ((double)(at * LANES + k) - (double)count - 1.0);
                if (p->kappa > 0.0)
                    design_rest(1, p, v, e, &turn[at], &rest);
                else
                    design_rest(0, p, v, e, &turn[at], &rest);
                add_up(&rest, lanes_of(aliases, at), sum);
            }
            const double unit[2] = {0.0, s[1] * p->rtt};
            const number y = late(unit, T), near = held_sum(unit, &first, y), echo = held_sum(unit, &second, y);
            sum[0] += near.re + echo.re;
            sum[1] += near.im + echo.im;
        }
    }
    free(turn);
    return 1;
}
