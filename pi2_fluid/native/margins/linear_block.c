/* Sums over aliases, as loops that a compiler turns into vector code. Compiled once per instruction set, as block.c. */
#include <string.h>

#include "elementary.h"
#include "margins/block.h"

#define PI2_JOIN_(a, b) a##b
#define PI2_JOIN(a, b) PI2_JOIN_(a, b)
#define W PI2_WIDE

/* Of k x the whole turns are taken off while it is exact enough to: k is small, x is rounded once. */
void PI2_JOIN(pi2_linear_turns_, PI2_SIMD)(double x, size_t count, size_t lines, pi2_wide *to)
{
    const double whole = 0x1.8p52, last = (double)count;
    for (size_t at = 0; at < lines; at++)
        for (int i = 0; i < W; i++) {
            const double k = (double)(at * W) - (last + 1.0) + (double)i, turn = k * x;
            const double rest = turn - ((turn + whole) - whole);
            double sine, cosine;
            pi2_sincos(0, 2.0 * PI2_PI * rest, &sine, &cosine);
            to[at].re[i] = k <= last ? cosine : 0.0;
            to[at].im[i] = k <= last ? -sine : 0.0;
        }
}

/* (order[0] + order[1] u + order[2] u^2) */
PI2_INLINE void leading(const double *order, double ur, double ui, double *re, double *im)
{
    const double hr = order[2] * ur + order[1], hi = order[2] * ui;
    *re = hr * ur - hi * ui + order[0];
    *im = hr * ui + hi * ur;
}

/* One class alone: G/s = -weight c b (1 + lead s) e/(s ((s - weight r)(s - a0 - a1 e) - weight c (e0 + e1 e))). */
PI2_INLINE void sum_one(const int leads, const pi2_linear_lines *of, const double *s, const double *e, double *sum)
{
    const pi2_linear_class p = of->cls->law;
    const double rate = of->rate, gain = p.weight * p.c, drive = -gain * p.b;
    const double own = p.weight * p.r, f0 = gain * p.e0, f1 = gain * p.e1;
    double re[W] = {0.0}, im[W] = {0.0};
    for (size_t at = 0; at < of->lines; at++) {
        const pi2_wide *const turn = &of->cls->turn[at];
        const double *const shift = &of->shift[at * W];
        for (int i = 0; i < W; i++) {
            const double x = s[1] + shift[i];
            const double er = e[0] * turn->re[i] - e[1] * turn->im[i], ei = e[0] * turn->im[i] + e[1] * turn->re[i];
            const double pr = s[0] - own, qr = s[0] - p.a0 - p.a1 * er, qi = x - p.a1 * ei;
            const double wr = pr * qr - x * qi - (f0 + f1 * er), wi = pr * qi + x * qr - f1 * ei;
            const double dr = s[0] * wr - x * wi, di = s[0] * wi + x * wr;
            const double nr = leads ? er + p.lead * (s[0] * er - x * ei) : er;
            const double ni = leads ? ei + p.lead * (s[0] * ei + x * er) : ei;
            /* 1/D and u = 1/(s + rate) share a division */
            const double far = s[0] + rate, far2 = far * far + x * x, d2 = dr * dr + di * di;
            const double over = 1.0 / (d2 * far2), size = drive * (over * far2), u = over * d2;
            const double ur = u * far, ui = -u * x, ur2 = ur * ur - ui * ui, ui2 = 2.0 * ur * ui;
            double ar, ai, br, bi;
            leading(of->cls->once, ur, ui, &ar, &ai);
            leading(of->cls->twice, ur, ui, &br, &bi);
            const double tr = ar + (br * er - bi * ei), ti = ai + (br * ei + bi * er);
            const double vr = ur2 * er - ui2 * ei, vi = ur2 * ei + ui2 * er;
            re[i] += size * (nr * dr + ni * di) - (vr * tr - vi * ti);
            im[i] += size * (ni * dr - nr * di) - (vr * ti + vi * tr);
        }
    }
    for (int i = 0; i < W; i++) {
        sum[0] += re[i];
        sum[1] += im[i];
    }
}

/* The class's part of drive, feedback and leading terms, the last over u^2. */
PI2_INLINE void add_class(const pi2_linear_member *of, const double *s, const double *x, const double *e,
                          const pi2_wide *turn, const pi2_wide *u, pi2_wide *drive, pi2_wide *feedback, pi2_wide *known)
{
    const pi2_linear_class p = of->law;
    const double gain = p.weight * p.c, own = p.weight * p.r;
    for (int i = 0; i < W; i++) {
        const double er = e[0] * turn->re[i] - e[1] * turn->im[i], ei = e[0] * turn->im[i] + e[1] * turn->re[i];
        const double dr = s[0] - p.a0 - p.a1 * er, di = x[i] - p.a1 * ei;
        const double scale = gain / (dr * dr + di * di);
        const double gr = scale * dr, gi = -scale * di; /* weight c/(s - a0 - a1 e) */
        const double br = p.b * (gr * er - gi * ei), bi = p.b * (gr * ei + gi * er);
        const double lr = 1.0 + p.lead * s[0], li = p.lead * x[i];
        drive->re[i] -= br * lr - bi * li;
        drive->im[i] -= br * li + bi * lr;
        const double cr = p.e0 + p.e1 * er, ci = p.e1 * ei;
        feedback->re[i] += own + gr * cr - gi * ci;
        feedback->im[i] += gr * ci + gi * cr;
        double fr, fi, tr, ti;
        leading(of->once, u->re[i], u->im[i], &fr, &fi);
        leading(of->twice, u->re[i], u->im[i], &tr, &ti);
        const double kr = fr + (tr * er - ti * ei), ki = fi + (tr * ei + ti * er);
        known->re[i] += kr * er - ki * ei;
        known->im[i] += kr * ei + ki * er;
    }
}

static void sum_several(const pi2_linear_lines *of, const double *s, const double *e, double *sum)
{
    const double rate = of->rate;
    double re[W] = {0.0}, im[W] = {0.0};
    for (size_t at = 0; at < of->lines; at++) {
        pi2_wide drive = {{0}, {0}}, feedback = {{0}, {0}}, known = {{0}, {0}}, u;
        double x[W];
        for (int i = 0; i < W; i++) {
            x[i] = s[1] + of->shift[at * W + (size_t)i];
            const double far = s[0] + rate, size = 1.0 / (far * far + x[i] * x[i]);
            u.re[i] = size * far;
            u.im[i] = -size * x[i];
        }
        for (size_t c = 0; c < of->classes; c++)
            add_class(&of->cls[c], s, x, e + 2 * c, &of->cls[c].turn[at], &u, &drive, &feedback, &known);
        for (size_t c = 0; c < of->crosses; c++) {
            const pi2_wide *const turn = &of->cross[c].turn[at];
            const double *const own = e + 2 * (of->classes + c);
            for (int i = 0; i < W; i++) {
                const double er = own[0] * turn->re[i] - own[1] * turn->im[i];
                const double ei = own[0] * turn->im[i] + own[1] * turn->re[i];
                double kr, ki;
                leading(of->cross[c].order, u.re[i], u.im[i], &kr, &ki);
                known.re[i] += kr * er - ki * ei;
                known.im[i] += kr * ei + ki * er;
            }
        }
        for (int i = 0; i < W; i++) {
            const double pr = s[0] - feedback.re[i], pi = x[i] - feedback.im[i];
            const double dr = pr * s[0] - pi * x[i], di = pr * x[i] + pi * s[0]; /* s (s - feedback) */
            const double size = 1.0 / (dr * dr + di * di);
            const double ur = u.re[i] * u.re[i] - u.im[i] * u.im[i], ui = 2.0 * u.re[i] * u.im[i];
            re[i] += size * (drive.re[i] * dr + drive.im[i] * di) - (known.re[i] * ur - known.im[i] * ui);
            im[i] += size * (drive.im[i] * dr - drive.re[i] * di) - (known.re[i] * ui + known.im[i] * ur);
        }
    }
    for (int i = 0; i < W; i++) {
        sum[0] += re[i];
        sum[1] += im[i];
    }
}

void PI2_JOIN(pi2_linear_sum_, PI2_SIMD)(const pi2_linear_lines *of, const double *s, const double *e, double *sum)
{
    sum[0] = sum[1] = 0.0;
    if (of->classes != 1 || of->crosses)
        sum_several(of, s, e, sum);
    else if (of->cls->law.lead != 0.0)
        sum_one(1, of, s, e, sum);
    else
        sum_one(0, of, s, e, sum);
}
