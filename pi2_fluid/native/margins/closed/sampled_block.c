/* Crossovers of sampled loops, eight at once, as loops that a compiler turns into vector code.
 *
 * Compiled once per instruction set, as block.c. A loop's answer never depends on its neighbours: a lane that has converged is
 * not moved by the passes that others need.
 */
#include "elementary.h"
#include "margins/vector/block.h"

#define PI2_JOIN_(a, b) a##b
#define PI2_JOIN(a, b) PI2_JOIN_(a, b)
#define W PI2_SAMPLED_WIDE

enum { PASSES = 14 };

/* F less its terms far out at x, e = e^{-jx}: added to the sum. */
PI2_INLINE void add(const int scalable, const int varies, double mu, double near, double far, double x, double er, double ei,
                    double *re, double *im)
{
    /* w = (1 + jx)(jx + mu h), and that times jx */
    const double br = scalable ? mu * er : mu + mu * er, bi = x + mu * ei;
    const double vr = br - x * bi, vi = bi + x * br;
    const double wr = varies ? vr + (mu - mu * er) : vr, wi = varies ? vi - mu * ei : vi;
    const double dr = -x * wi, di = x * wr;
    /* 1/D and f = 1/(jx + near) share a division */
    const double d2 = dr * dr + di * di, far2 = x * x + near * near, over = 1.0 / (d2 * far2);
    const double size = over * far2, fr = over * d2 * near, fi = -(over * d2 * x);
    const double sr = fr * fr - fi * fi, si = 2.0 * fr * fi, cr = sr * fr - si * fi, ci = sr * fi + si * fr;
    const double gr = far - mu * er, gi = -mu * ei;
    const double hr = 1.0 + (gr * fr - gi * fi), hi = gr * fi + gi * fr;
    const double kr = size * dr - (cr * hr - ci * hi), ki = -size * di - (cr * hi + ci * hr);
    *re += er * kr - ei * ki;
    *im += er * ki + ei * kr;
}

/* The sums over m >= 0 of m^{0, 1, 2, 3} q^m, weighted. */
PI2_INLINE void weigh(double qr, double qi, double a, double b, double c, double d, double *re, double *im)
{
    const double rest = 1.0 - qr, size = 1.0 / (rest * rest + qi * qi), ur = size * rest, ui = size * qi; /* u = 1/(1 - q) */
    const double ur2 = ur * ur - ui * ui, ui2 = 2.0 * ur * ui;
    const double tr = qr * ur2 - qi * ui2, ti = qr * ui2 + qi * ur2;         /* q u^2 */
    const double hr = (1.0 + qr) * ur - qi * ui, hi = (1.0 + qr) * ui + qi * ur;
    const double mr = 1.0 + qr * (4.0 + qr) - qi * qi, mi = qi * (4.0 + 2.0 * qr); /* 1 + 4 q + q^2 */
    const double nr = mr * ur2 - mi * ui2, ni = mr * ui2 + mi * ur2;
    const double wr = b + c * hr + d * nr, wi = c * hi + d * ni;
    *re = a * ur + (tr * wr - ti * wi);
    *im = a * ui + (tr * wi + ti * wr);
}

/* 20 log10 |L|, and the phase of L above -180 degrees (rad). */
PI2_INLINE void evaluate(const int scalable, const int varies, const pi2_sampled_lanes *p, const double *v, double *db,
                         double *above)
{
    double er[W], ei[W], ur[W], ui[W], dr[W], di[W], re[W], im[W];
    for (int i = 0; i < W; i++) {
        double sine, cosine;
        pi2_sincos(0, v[i], &sine, &cosine);
        er[i] = ur[i] = dr[i] = cosine;
        ei[i] = ui[i] = di[i] = -sine;
        re[i] = im[i] = 0.0;
        add(scalable, varies, p->mu[i], p->near[i], p->far[i], v[i], cosine, -sine, &re[i], &im[i]);
    }
    for (int k = 1; k <= PI2_SAMPLED_PAIRS; k++)
        for (int i = 0; i < W; i++) {
            const double tr = p->turn_re[i], ti = p->turn_im[i], away = (double)k * p->shift[i];
            const double r = ur[i] * tr - ui[i] * ti, s = ur[i] * ti + ui[i] * tr;
            const double c = dr[i] * tr + di[i] * ti, d = di[i] * tr - dr[i] * ti;
            ur[i] = r;
            ui[i] = s;
            dr[i] = c;
            di[i] = d;
            add(scalable, varies, p->mu[i], p->near[i], p->far[i], v[i] + away, r, s, &re[i], &im[i]);
            add(scalable, varies, p->mu[i], p->near[i], p->far[i], v[i] - away, c, d, &re[i], &im[i]);
        }
    for (int i = 0; i < W; i++) {
        const double tr = p->turn_re[i], ti = p->turn_im[i];
        const double c = dr[i] * tr + di[i] * ti, d = di[i] * tr - dr[i] * ti;
        const double last = (double)(PI2_SAMPLED_PAIRS + 1) * p->shift[i]; /* aliases are paired about pi/T */
        add(scalable, varies, p->mu[i], p->near[i], p->far[i], v[i] - last, c, d, &re[i], &im[i]);
    }
    for (int i = 0; i < W; i++) {
        const double tau = v[i] * p->theta[i], decay = 0.36787944117144232; /* 1/e */
        double half, other, s1, c1, s2, c2, ar, ai, br, bi;
        pi2_sincos(0, 0.5 * tau, &half, &other);
        pi2_sincos(0, tau * p->late[0][i], &s1, &c1);
        pi2_sincos(0, tau * p->late[1][i], &s2, &c2);
        const double qr = decay * (1.0 - 2.0 * half * half), qi = -decay * (2.0 * half * other);
        weigh(qr, qi, p->on[0][0][i], p->on[0][1][i], p->on[0][2][i], p->on[0][3][i], &ar, &ai);
        weigh(qr, qi, p->on[1][0][i], p->on[1][1][i], p->on[1][2][i], p->on[1][3][i], &br, &bi);
        /* e^{-jv} (a y^late + e^{-jv} b y^late') */
        const double gr = br * c2 + bi * s2, gi = bi * c2 - br * s2;
        const double hr = ar * c1 + ai * s1 + (er[i] * gr - ei[i] * gi), hi = ai * c1 - ar * s1 + (er[i] * gi + ei[i] * gr);
        const double sr = re[i] + (er[i] * hr - ei[i] * hi), si = im[i] + (er[i] * hi + ei[i] * hr);
        const double cr = 1.0 + p->rho[i] * (2.0 * half * half), ci = p->rho[i] * (2.0 * half * other); /* 1 + rho (1 - y) */
        double num, den, exponent, base;
        const double size = p->loud[i] * p->loud[i] * (cr * cr + ci * ci) * (sr * sr + si * si);
        pi2_decibels_reduce(size, 1.0, &num, &den, &exponent);
        db[i] = 0.5 * pi2_decibels_finish(num / den, exponent);
        /* arg (1 + rho (1 - y)) - atan v, then arg of -(1 + jv) e^{jv} times the sum, less v: docs/proofs.md says why none is wrapped */
        const double y1 = ci - v[i] * cr, x1 = cr + v[i] * ci;
        pi2_atan2_reduce(y1, x1, &num, &den, &base);
        const double lead = pi2_atan2_finish(y1, x1, num / den, base);
        const double zr = er[i] * sr + ei[i] * si, zi = er[i] * si - ei[i] * sr; /* e^{jv} times the sum */
        const double y2 = -(zi + v[i] * zr), x2 = v[i] * zi - zr;
        pi2_atan2_reduce(y2, x2, &num, &den, &base);
        above[i] = lead + pi2_atan2_finish(y2, x2, num / den, base) - v[i];
    }
}

/* v e^x */
PI2_INLINE double moved(double v, double x)
{
    const double even = 12.0 + x * x, odd = 6.0 * x;
    return v * ((even + odd) / (even - odd));
}

/* By the secant method in ln v, halfway to the end of the bracket where a step would leave it. */
PI2_INLINE void solve(const int scalable, const int varies, const int phase, const pi2_sampled_lanes *p,
                      pi2_sampled_crossing *to)
{
    double low[W], step[W], last[W], other[W], db[W], above[W];
    uint64_t any = 1;
    for (int i = 0; i < W; i++) {
        low[i] = step[i] = last[i] = other[i] = 0.0;
        to->left[i] = 1;
    }
    for (int pass = 0; any && pass < PASSES; pass++) {
        evaluate(scalable, varies, p, to->v, db, above);
        any = 0;
        for (int i = 0; i < W; i++) {
            const double f = phase ? above[i] : db[i], g = phase ? db[i] : above[i], v = to->v[i];
            const int first = pass == 0, go = to->left[i] != 0;
            const double slope = first ? to->slope[i] : (f - last[i]) / step[i];
            const double lower = f > 0.0 ? v : low[i], upper = f > 0.0 ? to->high[i] : v, end = f > 0.0 ? upper : lower;
            double next = -f / slope;
            next = next < 0.5 ? next : 0.5;
            next = next > -0.5 ? next : -0.5;
            const double there = moved(v, next);
            const int inside = (slope < 0.0) & (there >= lower) & (there <= upper);
            /* what is beyond the end is not looked for: then this never shrinks */
            const double taken = inside ? next : 0.5 * (end - v) / (end > v ? end : v);
            const int sure = inside & !first & (fabs(next * step[i]) <= 1e-14) & (fabs(next) <= 1e-5);
            const double tilt = first ? 0.0 : (g - other[i]) / step[i];
            to->other[i] = go ? g + tilt * next : to->other[i];
            to->v[i] = go ? moved(v, taken) : v;
            to->left[i] = go & !sure;
            low[i] = lower;
            to->high[i] = upper;
            last[i] = f;
            other[i] = g;
            step[i] = taken;
            any |= to->left[i];
        }
    }
}

PI2_INLINE void both(const int scalable, const int varies, const pi2_sampled_lanes *of, pi2_sampled_crossing *gain,
                     pi2_sampled_crossing *phase)
{
    solve(scalable, varies, 0, of, gain);
    solve(scalable, varies, 1, of, phase);
}

#define PI2_SAMPLED_AS(name, scalable, varies) \
    void PI2_JOIN(name, PI2_SIMD)(const pi2_sampled_lanes *of, pi2_sampled_crossing *gain, pi2_sampled_crossing *phase) \
    { \
        both(scalable, varies, of, gain, phase); \
    }

PI2_SAMPLED_AS(pi2_sampled_reno_, 0, 0)
PI2_SAMPLED_AS(pi2_sampled_scalable_, 1, 0)
PI2_SAMPLED_AS(pi2_sampled_reno_varies_, 0, 1)
PI2_SAMPLED_AS(pi2_sampled_scalable_varies_, 1, 1)
