#include "margins/alias_sums.h"

#include <math.h>
#include <stdlib.h>

#include "elementary.h"
#include "margins/aliases.h"

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
