/* The plant by the clock of acknowledgements at a line of frequencies, in loops that a compiler turns into vector code: part
 * of ack_plant_block.c. */
#pragma once

#include <string.h>

#include "margins/aliases/ack_lines.h"

/* --- lines of complex numbers ---------------------------------------------------------------- */

PI2_INLINE void multiply(const line *a, const line *b, line *to)
{
    for (int i = 0; i < LANES; i++) {
        const double re = a->re[i] * b->re[i] - a->im[i] * b->im[i], im = a->re[i] * b->im[i] + a->im[i] * b->re[i];
        to->re[i] = re;
        to->im[i] = im;
    }
}

PI2_INLINE void invert(const line *a, line *to)
{
    for (int i = 0; i < LANES; i++) {
        const double size = 1.0 / (a->re[i] * a->re[i] + a->im[i] * a->im[i]);
        to->re[i] = size * a->re[i];
        to->im[i] = -size * a->im[i];
    }
}

/* to += factor a b */
PI2_INLINE void add_product(double factor, const line *a, const line *b, line *to)
{
    for (int i = 0; i < LANES; i++) {
        to->re[i] += factor * (a->re[i] * b->re[i] - a->im[i] * b->im[i]);
        to->im[i] += factor * (a->re[i] * b->im[i] + a->im[i] * b->re[i]);
    }
}

/* of[0](s) + P of[1](s), both of this degree */
PI2_INLINE void evaluate(const double (*of)[PI2_ACK_COEFFICIENTS], int degree, const line *s, const line *P, line *to)
{
    line at_once, carried;
    for (int i = 0; i < LANES; i++) {
        at_once.re[i] = of[0][degree];
        carried.re[i] = of[1][degree];
        at_once.im[i] = carried.im[i] = 0.0;
    }
    for (int n = degree - 1; n >= 0; n--) {
        multiply(&at_once, s, &at_once);
        multiply(&carried, s, &carried);
        for (int i = 0; i < LANES; i++) {
            at_once.re[i] += of[0][n];
            carried.re[i] += of[1][n];
        }
    }
    *to = at_once;
    add_product(1.0, P, &carried, to);
}

/* --- the plant ------------------------------------------------------------------------------- */

/* From a cut that is decided to one that is carried out; u = 1/s. */
static void carry_out(const pi2_ack_member *p, double bunch, const line *u, const line *e, line *P)
{
    if (!p->law.reduces) {
        for (int i = 0; i < LANES; i++) {
            P->re[i] = 1.0;
            P->im[i] = 0.0;
        }
        return;
    }
    const double even = (1.0 - bunch) / p->law.rtt, together = bunch / 2.0;
    for (int i = 0; i < LANES; i++) {
        const double br = 1.0 - e->re[i], bi = -e->im[i];
        P->re[i] = even * (br * u->re[i] - bi * u->im[i]) + together * (1.0 + e->re[i]);
        P->im[i] = even * (br * u->im[i] + bi * u->re[i]) + together * e->im[i];
    }
}

typedef struct {
    line waiting, released; /* SUM share by_signal/back and SUM share lost/back, of classes that wait */
    line ahead;             /* SUM share by_signal/back of those that are served first */
} sums_of_classes;

/* One class's part; `delayed`: e^{-s delay} of all delays, u = 1/s. A class that is served first comes back where `echo` is
 * 1, and where it is 0 does not. */
static void add_member(const pi2_ack_member *p, double bunch, const line *s, const line *u, const line *delayed,
                       const double *echo, sums_of_classes *to)
{
    const pi2_ack_class *const law = &p->law;
    const line *const e = &delayed[p->rtt];
    line P, own, signal, lost, back, one;
    carry_out(p, bunch, u, e, &P);
    evaluate(law->own, p->own, s, &P, &own);
    evaluate(law->signal, p->signal, s, &P, &signal);
    /* by_signal, lost and back, all times `own` */
    if (law->paced) {
        line acks, lag;
        evaluate(law->acks, p->acks, s, &P, &acks);
        back = own;
        add_product(-1.0, e, &acks, &back);
        multiply(&back, s, &back);
        for (int i = 0; i < LANES; i++) {
            lag.re[i] = law->rtt * (1.0 + law->smoothing * s->re[i]);
            lag.im[i] = law->rtt * law->smoothing * s->im[i];
        }
        invert(&lag, &lag);
        multiply(&own, &lag, &lost);
        add_product(1.0, s, &acks, &lost);
    } else {
        lost = own;
        if (p->follows) {
            line acks;
            evaluate(law->acks, p->acks, s, &P, &acks);
            add_product(law->rtt, s, &acks, &lost);
        }
        multiply(e, &lost, &back);
        for (int i = 0; i < LANES; i++) {
            const double returns = law->waits ? 1.0 : echo[i];
            back.re[i] = own.re[i] - returns * back.re[i];
            back.im[i] = own.im[i] - returns * back.im[i];
        }
    }
    const double share = law->paced ? law->share : law->share * law->rtt;
    invert(&back, &one);
    multiply(&signal, &delayed[p->heard], &signal);
    add_product(share, &signal, &one, law->waits ? &to->waiting : &to->ahead);
    if (law->waits) {
        multiply(&lost, &delayed[p->base], &lost);
        add_product(law->share, &lost, &one, &to->released);
    }
}

/* The same of a window of one state that is told nothing of acknowledgements: in one loop. */
PI2_INLINE void add_plain(const int reduces, const pi2_ack_member *p, double bunch, const line *s, const line *u,
                          const line *delayed, const double *echo, line *answer, line *released)
{
    const pi2_ack_class *const law = &p->law;
    const line *const e = &delayed[p->rtt], *const heard = &delayed[p->heard], *const base = &delayed[p->base];
    const double even = (1.0 - bunch) / law->rtt, together = bunch / 2.0, part = law->share * law->rtt, share = law->share;
    const double own00 = law->own[0][0], own01 = law->own[0][1], own10 = law->own[1][0], own11 = law->own[1][1];
    const double sig00 = law->signal[0][0], sig01 = law->signal[0][1], sig10 = law->signal[1][0], sig11 = law->signal[1][1];
    for (int i = 0; i < LANES; i++) {
        const double sr = s->re[i], si = s->im[i], er = e->re[i], ei = e->im[i];
        double pr = 1.0, pi = 0.0;
        if (reduces) {
            const double cr = 1.0 - er, ci = -ei;
            pr = even * (cr * u->re[i] - ci * u->im[i]) + together * (1.0 + er);
            pi = even * (cr * u->im[i] + ci * u->re[i]) + together * ei;
        }
        const double or1 = own10 + own11 * sr, oi1 = own11 * si, gr1 = sig10 + sig11 * sr, gi1 = sig11 * si;
        const double or = own00 + own01 * sr + (pr * or1 - pi * oi1), oi = own01 * si + (pr * oi1 + pi * or1);
        const double gr = sig00 + sig01 * sr + (pr * gr1 - pi * gi1), gi = sig01 * si + (pr * gi1 + pi * gr1);
        const double br = 1.0 - echo[i] * er, bi = -echo[i] * ei; /* what comes back is not sent anew */
        const double xr = or * br - oi * bi, xi = or * bi + oi * br, size = 1.0 / (xr * xr + xi * xi);
        const double ur = size * xr, ui = -size * xi;
        const double hr = part * heard->re[i], hi = part * heard->im[i];
        const double yr = gr * ur - gi * ui, yi = gr * ui + gi * ur;
        answer->re[i] += hr * yr - hi * yi;
        answer->im[i] += hr * yi + hi * yr;
        if (released) {
            const double lr = share * (or * ur - oi * ui), li = share * (or * ui + oi * ur);
            released->re[i] += lr * base->re[i] - li * base->im[i];
            released->im[i] += lr * base->im[i] + li * base->re[i];
        }
    }
}

static void add_class(const pi2_ack_member *p, double bunch, const line *s, const line *u, const line *delayed,
                      const double *echo, sums_of_classes *to)
{
    double all[LANES];
    if (!p->plain) {
        add_member(p, bunch, s, u, delayed, echo, to);
        return;
    }
    if (!p->law.waits) {
        if (p->law.reduces)
            add_plain(1, p, bunch, s, u, delayed, echo, &to->ahead, NULL);
        else
            add_plain(0, p, bunch, s, u, delayed, echo, &to->ahead, NULL);
        return;
    }
    for (int i = 0; i < LANES; i++)
        all[i] = 1.0;
    if (p->law.reduces)
        add_plain(1, p, bunch, s, u, delayed, all, &to->waiting, &to->released);
    else
        add_plain(0, p, bunch, s, u, delayed, all, &to->waiting, &to->released);
}

/* Of a class that is alone what goes round cancels: R by_signal e^{-s tau}, or without the e of a backlog. */
static void respond_alone(const pi2_ack_plant *plant, const line *s, const line *u, const line *delayed, line *to)
{
    const pi2_ack_member *const p = plant->cls;
    line P, own, signal;
    carry_out(p, plant->rest.bunch, u, &delayed[p->rtt], &P);
    evaluate(p->law.own, p->own, s, &P, &own);
    evaluate(p->law.signal, p->signal, s, &P, &signal);
    invert(&own, &own);
    multiply(&signal, &own, &signal);
    multiply(&signal, &delayed[plant->through], to);
    for (int i = 0; i < LANES; i++) {
        to->re[i] *= -p->law.rtt;
        to->im[i] *= -p->law.rtt;
    }
}

static void respond(const pi2_ack_plant *plant, const line *s, const line *u, const line *delayed, const double *echo,
                    line *to)
{
    sums_of_classes of;
    line denominator, one, found;
    if (plant->alone) {
        respond_alone(plant, s, u, delayed, to);
        return;
    }
    memset(&of, 0, sizeof of);
    for (size_t c = 0; c < plant->classes; c++)
        add_class(&plant->cls[c], plant->rest.bunch, s, u, delayed, echo, &of);
    multiply(&delayed[plant->queue], &of.released, &denominator);
    for (int i = 0; i < LANES; i++)
        denominator.re[i] += 1.0;
    invert(&denominator, &one);
    if (plant->rest.head) {
        found = of.ahead;
        add_product(1.0, &delayed[plant->queue], &of.waiting, &found);
        multiply(&found, &one, &found);
    } else {
        found = of.waiting;
        add_product(-1.0, &of.ahead, &of.released, &found);
        multiply(&found, &one, &found);
        add_product(plant->rest.queue_delay, s, &of.ahead, &found);
        for (int i = 0; i < LANES; i++) {
            found.re[i] += of.ahead.re[i];
            found.im[i] += of.ahead.im[i];
        }
    }
    for (int i = 0; i < LANES; i++) {
        to->re[i] = -found.re[i];
        to->im[i] = -found.im[i];
    }
}
