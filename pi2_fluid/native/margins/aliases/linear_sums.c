#include "margins/aliases/linear_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elementary.h"
#include "margins/aliases/aliases.h"
#include "margins/vector/block.h"

struct pi2_linear_sums {
    pi2_linear_lines lines;
    pi2_linear_sum_function *sum;
    pi2_linear_at_function *at;
    double interval, longest; /* s; the longest of what is known late */
    double *delay;
    pi2_linear_known *known;
    pi2_linear_member *cls;
    pi2_linear_cross *cross;
    pi2_wide *turn;
    double *shift;
};

static pi2_polynomial polynomial_of(int states, const double *of)
{
    pi2_polynomial found = {.states = states, .of = of};
    for (int i = 0; i <= states; i++) {
        found.highest[i] = -1;
        for (int j = 0; i + j <= states; j++)
            if (of[i * (states + 1) + j] != 0.0)
                found.highest[i] = j;
    }
    return found;
}

static void know(pi2_linear_sums *sums, double delay, const double *order)
{
    if (order[0] == 0.0 && order[1] == 0.0 && order[2] == 0.0)
        return;
    const held found = hold(sums->interval, delay, 1.0 / sums->interval, order);
    pi2_linear_known *const to = &sums->known[sums->lines.knowns++];
    to->first = found.first;
    memcpy(to->on, found.on, sizeof to->on);
    sums->longest = fmax(sums->longest, found.first);
}

/* Puts the terms of one delay where they belong: to a class, if it is that of one or of two of its round trips. */
static void put(pi2_linear_sums *sums, const pi2_echo *echo)
{
    for (size_t c = 0; c < sums->lines.classes; c++) {
        pi2_linear_member *const p = &sums->cls[c];
        double *const to = echo->delay == p->law.rtt ? p->once : echo->delay == p->law.rtt + p->law.rtt ? p->twice : NULL;
        if (to) {
            for (int m = 0; m < 3; m++)
                to[m] += echo->order[m];
            return;
        }
    }
    pi2_linear_cross *const to = &sums->cross[sums->lines.crosses++];
    memcpy(to->order, echo->order, sizeof to->order);
    sums->delay[sums->lines.delays++] = echo->delay;
}

pi2_linear_sums *pi2_linear_sums_make(int simd, size_t classes, const pi2_linear_class *cls, size_t echoes,
                                      const pi2_echo *echo, double interval, size_t count)
{
    const pi2_simd *const found = pi2_simd_at(simd);
    pi2_linear_sums *const sums = calloc(1, sizeof *sums);
    if (!found || !sums) {
        free(sums);
        return NULL;
    }
    const size_t aliases = 2 * count + 2, lines = (aliases + PI2_WIDE - 1) / PI2_WIDE, most = classes + echoes + 1;
    sums->sum = found->linear_sum;
    sums->at = found->linear_at;
    sums->interval = sums->longest = interval;
    sums->delay = calloc(most, sizeof *sums->delay);
    sums->known = calloc(2 * most, sizeof *sums->known);
    sums->cls = calloc(most, sizeof *sums->cls);
    sums->cross = calloc(most, sizeof *sums->cross);
    sums->turn = calloc(most * lines, sizeof *sums->turn);
    sums->shift = calloc(lines * PI2_WIDE, sizeof *sums->shift);
    if (!sums->delay || !sums->known || !sums->cls || !sums->cross || !sums->turn || !sums->shift) {
        pi2_linear_sums_free(sums);
        return NULL;
    }
    for (size_t c = 0; c < classes; c++) {
        pi2_linear_member *const p = &sums->cls[c];
        p->law = cls[c];
        p->own = polynomial_of(cls[c].states, p->law.own);
        p->signal = polynomial_of(cls[c].states, p->law.signal);
        p->delay = polynomial_of(cls[c].states, p->law.delay);
        sums->delay[c] = cls[c].rtt;
    }
    sums->lines = (pi2_linear_lines){.classes = classes, .lines = lines, .cls = sums->cls, .cross = sums->cross,
                                     .shift = sums->shift, .rate = 1.0 / interval, .delays = classes,
                                     .delay = sums->delay, .known = sums->known, .decay = exp(-1.0)};
    for (size_t k = 0; k < echoes; k++)
        put(sums, &echo[k]);
    for (size_t d = 0; d < sums->lines.delays; d++) {
        sums->longest = fmax(sums->longest, sums->delay[d]);
        pi2_wide *const turn = sums->turn + d * lines;
        found->linear_turns(sums->delay[d] / interval, count, lines, turn);
        if (d < classes)
            sums->cls[d].turn = turn;
        else
            sums->cross[d - classes].turn = turn;
    }
    for (size_t k = 0; k < lines * PI2_WIDE; k++)
        sums->shift[k] = 2.0 * PI2_PI * ((double)k - (double)count - 1.0) / interval;
    for (size_t c = 0; c < classes; c++) {
        know(sums, cls[c].rtt, sums->cls[c].once);
        know(sums, 2.0 * cls[c].rtt, sums->cls[c].twice);
    }
    for (size_t c = 0; c < sums->lines.crosses; c++)
        know(sums, sums->delay[classes + c], sums->cross[c].order);
    return sums;
}

void pi2_linear_sums_free(pi2_linear_sums *sums)
{
    if (sums) {
        free(sums->delay);
        free(sums->known);
        free(sums->cls);
        free(sums->cross);
        free(sums->turn);
        free(sums->shift);
    }
    free(sums);
}

/* The sums over m >= 0 of m^{0, 1, 2, 3} q^m. */
static void powers(number q, number *to)
{
    const double size = 1.0 / ((1.0 - q.re) * (1.0 - q.re) + q.im * q.im);
    const number one = {size * (1.0 - q.re), size * q.im}, square = times(one, one), two = times(q, square);
    const number most = times(q, (number){4.0 + q.re, q.im});
    to[0] = one;
    to[1] = two;
    to[2] = times(times(two, (number){1.0 + q.re, q.im}), one);
    to[3] = times(times(two, (number){1.0 + most.re, most.im}), square);
}

static int one_by_one(const pi2_linear_sums *sums, size_t n, const double *s, double *values)
{
    const pi2_linear_lines *const of = &sums->lines;
    number *const e = malloc((of->delays + 1) * sizeof *e);
    if (!e)
        return 0;
    for (size_t p = 0; p < n; p++) {
        const double *const s_p = s + 2 * p;
        double found[2];
        for (size_t d = 0; d < of->delays; d++)
            e[d] = late(s_p, of->delay[d]);
        sums->sum(of, s_p, &e->re, found);
        number sum = {of->rate * found[0], of->rate * found[1]};
        const number y = late(s_p, sums->interval);
        number power[4];
        powers((number){of->decay * y.re, of->decay * y.im}, power);
        for (size_t k = 0; k < of->knowns; k++) {
            number whole = {0.0, 0.0};
            for (int m = 0; m < 4; m++) {
                whole.re += of->known[k].on[m] * power[m].re;
                whole.im += of->known[k].on[m] * power[m].im;
            }
            whole = times(whole, late(s_p, of->known[k].first));
            sum.re += whole.re;
            sum.im += whole.im;
        }
        values[2 * p] = sum.re;
        values[2 * p + 1] = sum.im;
    }
    free(e);
    return 1;
}

int pi2_linear_sums_at(const pi2_linear_sums *sums, size_t n, const double *s, double *values)
{
    for (size_t p = 0, many; p < n; p += many) {
        double x[PI2_WIDE];
        int plain = sums->lines.delays <= PI2_FEW;
        many = n - p < PI2_WIDE ? n - p : PI2_WIDE;
        for (size_t i = 0; i < many; i++) {
            x[i] = s[2 * (p + i) + 1];
            plain &= s[2 * (p + i)] == 0.0 && fabs(x[i]) * sums->longest < PI2_SINCOS_LIMIT;
        }
        if (plain)
            sums->at(&sums->lines, many, x, values + 2 * p);
        else if (!one_by_one(sums, many, s + 2 * p, values + 2 * p))
            return 0;
    }
    return 1;
}
