/* The sums of alias_sums.h, as loops that a compiler turns into vector code. Compiled once per instruction set, as block.c. */
#include <math.h>
#include <stdlib.h>

#include "elementary.h"
#include "margins/aliases/aliases.h"
#include "margins/vector/block.h"

#define PI2_JOIN_(a, b) a##b
#define PI2_JOIN(a, b) PI2_JOIN_(a, b)

/* Adds the response less its leading terms at v; e turned is e^{-jv}, or 0 for what adds nothing. With `cubic` kappa is
 * not 0. */
PI2_INLINE void design_rest(const int cubic, const pi2_design_loop *p, const double *v, const number e,
                            const line *turn, line *sum)
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
        sum->re[i] += one * (hr * dr + hi * di) - (ar * cr - ai * ci);
        sum->im[i] += one * (hi * dr - hr * di) - (ar * ci + ai * cr);
    }
}

static void sums_of_one(const pi2_design_loop *p, double interval, size_t count, size_t n, const double *w, line *turn,
                        double *sums)
{
    const size_t lines = lines_of(2 * count + 2);
    const double shift = 2.0 * PI2_PI * p->rtt / interval;
    turns(p->rtt / interval, count, lines, turn);
    /* in units of the round-trip time */
    const double T = interval / p->rtt;
    const held first = hold(T, 1.0, p->near, (const double[]){0.0, T, 0.0});
    const held second = hold(T, 2.0, p->near, (const double[]){0.0, 0.0, -p->mu * T});
    for (size_t i = 0; i < n; i++) {
        const double s[2] = {0.0, w[i] * p->rtt};
        number e[4];
        line sum = {{0.0}, {0.0}};
        late_four(s, (const double[]){1.0, T, first.first, second.first}, e);
        for (size_t at = 0; at < lines; at++) {
            double v[LANES];
            for (int k = 0; k < LANES; k++)
                v[k] = s[1] + shift * ((double)(at * LANES + k) - (double)count - 1.0);
            if (p->kappa > 0.0)
                design_rest(1, p, v, e[0], &turn[at], &sum);
            else
                design_rest(0, p, v, e[0], &turn[at], &sum);
        }
        const number rest = add_up(&sum), near = held_sum(&first, e[1], e[2]), echo = held_sum(&second, e[1], e[3]);
        sums[2 * i] = rest.re + near.re + echo.re;
        sums[2 * i + 1] = rest.im + near.im + echo.im;
    }
}

int PI2_JOIN(pi2_design_sums_, PI2_SIMD)(size_t loops, const pi2_design_loop *loop, double interval, size_t count, size_t n,
                                         int each, const double *w, double *sums)
{
    line *const turn = malloc(lines_of(2 * count + 2) * sizeof *turn);
    if (!turn)
        return 0;
    for (size_t j = 0; j < loops; j++)
        sums_of_one(&loop[j], interval, count, n, each ? w + j * n : w, turn, sums + 2 * j * n);
    free(turn);
    return 1;
}
