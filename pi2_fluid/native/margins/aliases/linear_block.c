/* Sums over aliases, as loops that a compiler turns into vector code. Compiled once per instruction set, as block.c. */
#include <string.h>

#include "elementary.h"
#include "margins/vector/block.h"

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

/* One class alone, of one state: G/s = -weight c b (1 + lead s) e/(s ((s - weight r)(s - a0 - a1 e) - weight c (e0 + e1 e))). */
PI2_INLINE void sum_one(const int leads, const pi2_linear_lines *of, const double *s, const double *e, double *sum)
{
    const pi2_linear_class *const p = &of->cls->law;
    const double rate = of->rate, lead = p->lead, a0 = -p->own[0], a1 = -p->own[1], drive = -p->weight * p->signal[0];
    const double own = p->weight * p->r, f0 = p->weight * p->delay[0], f1 = p->weight * p->delay[1];
    double re[W] = {0.0}, im[W] = {0.0};
    for (size_t at = 0; at < of->lines; at++) {
        const pi2_wide *const turn = &of->cls->turn[at];
        const double *const shift = &of->shift[at * W];
        for (int i = 0; i < W; i++) {
            const double x = s[1] + shift[i];
            const double er = e[0] * turn->re[i] - e[1] * turn->im[i], ei = e[0] * turn->im[i] + e[1] * turn->re[i];
            const double pr = s[0] - own, qr = s[0] - a0 - a1 * er, qi = x - a1 * ei;
            const double wr = pr * qr - x * qi - (f0 + f1 * er), wi = pr * qi + x * qr - f1 * ei;
            const double dr = s[0] * wr - x * wi, di = s[0] * wi + x * wr;
            const double nr = leads ? er + lead * (s[0] * er - x * ei) : er;
            const double ni = leads ? ei + lead * (s[0] * ei + x * er) : ei;
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

/* A polynomial at s = s_re + jx and e. */
PI2_INLINE void evaluate(const pi2_polynomial *p, double s_re, const double *x, const pi2_wide *e, pi2_wide *to)
{
    for (int i = 0; i < W; i++)
        to->re[i] = to->im[i] = 0.0;
    for (int power = p->states; power >= 0; power--) {
        const double *const of = p->of + power * (p->states + 1);
        const int highest = p->highest[power];
        pi2_wide here;
        for (int i = 0; i < W; i++) {
            here.re[i] = highest >= 0 ? of[highest] : 0.0;
            here.im[i] = 0.0;
        }
        for (int j = highest - 1; j >= 0; j--)
            for (int i = 0; i < W; i++) {
                const double re = here.re[i] * e->re[i] - here.im[i] * e->im[i] + of[j];
                here.im[i] = here.re[i] * e->im[i] + here.im[i] * e->re[i];
                here.re[i] = re;
            }
        for (int i = 0; i < W; i++) {
            const double re = to->re[i] * s_re - to->im[i] * x[i] + here.re[i];
            to->im[i] = to->re[i] * x[i] + to->im[i] * s_re + here.im[i];
            to->re[i] = re;
        }
    }
}

/* The class's part of drive, feedback and leading terms, the last over u^2. */
PI2_INLINE void add_class(const pi2_linear_member *of, const double *s, const double *x, const double *e_,
                          const pi2_wide *turn, const pi2_wide *u, pi2_wide *drive, pi2_wide *feedback, pi2_wide *known)
{
    const pi2_linear_class *const p = &of->law;
    const double weight = p->weight, lead = p->lead, at_once = p->weight * p->r;
    pi2_wide e, own, signal, delay;
    for (int i = 0; i < W; i++) {
        e.re[i] = e_[0] * turn->re[i] - e_[1] * turn->im[i];
        e.im[i] = e_[0] * turn->im[i] + e_[1] * turn->re[i];
    }
    evaluate(&of->own, s[0], x, &e, &own);
    evaluate(&of->signal, s[0], x, &e, &signal);
    evaluate(&of->delay, s[0], x, &e, &delay);
    for (int i = 0; i < W; i++) {
        const double er = e.re[i], ei = e.im[i];
        const double scale = weight / (own.re[i] * own.re[i] + own.im[i] * own.im[i]);
        const double gr = scale * own.re[i], gi = -scale * own.im[i]; /* weight/own */
        const double hr = signal.re[i] * er - signal.im[i] * ei, hi = signal.re[i] * ei + signal.im[i] * er;
        const double br = gr * hr - gi * hi, bi = gr * hi + gi * hr;
        const double lr = 1.0 + lead * s[0], li = lead * x[i];
        drive->re[i] -= br * lr - bi * li;
        drive->im[i] -= br * li + bi * lr;
        feedback->re[i] += at_once + gr * delay.re[i] - gi * delay.im[i];
        feedback->im[i] += gr * delay.im[i] + gi * delay.re[i];
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

PI2_INLINE void sum_at(const pi2_linear_lines *of, const double *s, const double *e, double *sum)
{
    sum[0] = sum[1] = 0.0;
    if (of->classes != 1 || of->crosses || of->cls->law.states != 1)
        sum_several(of, s, e, sum);
    else if (of->cls->law.lead != 0.0)
        sum_one(1, of, s, e, sum);
    else
        sum_one(0, of, s, e, sum);
}

void PI2_JOIN(pi2_linear_sum_, PI2_SIMD)(const pi2_linear_lines *of, const double *s, const double *e, double *sum)
{
    sum_at(of, s, e, sum);
}

/* e^{-jx delay} */
PI2_INLINE void late(const double *x, double delay, pi2_wide *to)
{
    for (int i = 0; i < W; i++) {
        double sine, cosine;
        pi2_sincos(0, x[i] * delay, &sine, &cosine);
        to->re[i] = cosine;
        to->im[i] = -sine;
    }
}

PI2_INLINE void multiply(const pi2_wide *a, const pi2_wide *b, pi2_wide *to)
{
    for (int i = 0; i < W; i++) {
        const double re = a->re[i] * b->re[i] - a->im[i] * b->im[i];
        to->im[i] = a->re[i] * b->im[i] + a->im[i] * b->re[i];
        to->re[i] = re;
    }
}

/* The sums over m >= 0 of m^{0, 1, 2, 3} q^m. */
PI2_INLINE void powers(const pi2_wide *q, pi2_wide *to)
{
    pi2_wide square, three, most;
    for (int i = 0; i < W; i++) {
        const double rest = 1.0 - q->re[i], size = 1.0 / (rest * rest + q->im[i] * q->im[i]);
        to[0].re[i] = size * rest;
        to[0].im[i] = size * q->im[i];
        three.re[i] = 1.0 + q->re[i];
        three.im[i] = q->im[i];
        most.re[i] = 4.0 + q->re[i];
        most.im[i] = q->im[i];
    }
    multiply(&to[0], &to[0], &square);
    multiply(q, &square, &to[1]);
    multiply(&to[1], &three, &three);
    multiply(&three, &to[0], &to[2]);
    multiply(q, &most, &most);
    for (int i = 0; i < W; i++)
        most.re[i] += 1.0;
    multiply(&to[1], &most, &most);
    multiply(&most, &square, &to[3]);
}

void PI2_JOIN(pi2_linear_at_, PI2_SIMD)(const pi2_linear_lines *of, size_t n, const double *x, double *values)
{
    double at[W];
    pi2_wide e[PI2_FEW], y, power[4], sum;
    for (size_t i = 0; i < W; i++)
        at[i] = x[i < n ? i : n - 1];
    for (size_t d = 0; d < of->delays; d++)
        late(at, of->delay[d], &e[d]);
    late(at, 1.0 / of->rate, &y);
    for (int i = 0; i < W; i++) {
        sum.re[i] = sum.im[i] = 0.0;
        y.re[i] *= of->decay;
        y.im[i] *= of->decay;
    }
    powers(&y, power);
    for (size_t k = 0; k < of->knowns; k++) {
        const pi2_linear_known *const p = &of->known[k];
        pi2_wide whole, first;
        late(at, p->first, &first);
        for (int i = 0; i < W; i++) {
            whole.re[i] = (p->on[0] * power[0].re[i] + p->on[1] * power[1].re[i])
                + (p->on[2] * power[2].re[i] + p->on[3] * power[3].re[i]);
            whole.im[i] = (p->on[0] * power[0].im[i] + p->on[1] * power[1].im[i])
                + (p->on[2] * power[2].im[i] + p->on[3] * power[3].im[i]);
        }
        multiply(&whole, &first, &whole);
        for (int i = 0; i < W; i++) {
            sum.re[i] += whole.re[i];
            sum.im[i] += whole.im[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        const double s[2] = {0.0, x[i]};
        double own[2 * PI2_FEW], found[2];
        for (size_t d = 0; d < of->delays; d++) {
            own[2 * d] = e[d].re[i];
            own[2 * d + 1] = e[d].im[i];
        }
        sum_at(of, s, own, found);
        values[2 * i] = of->rate * found[0] + sum.re[i];
        values[2 * i + 1] = of->rate * found[1] + sum.im[i];
    }
}
