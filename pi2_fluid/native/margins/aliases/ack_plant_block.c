/* The plant by the clock of acknowledgements, and its sums over aliases, as loops that a compiler turns into vector code.
 * Compiled once per instruction set, as block.c. */
#include <stdlib.h>

#include "margins/aliases/ack_lines.h"
#include "margins/aliases/ack_respond.h"
#include "margins/vector/block.h"

#define PI2_JOIN_(a, b) a##b
#define PI2_JOIN(a, b) PI2_JOIN_(a, b)

static void fill(double *echo, double value)
{
    for (int i = 0; i < LANES; i++)
        echo[i] = value;
}

int PI2_JOIN(pi2_ack_at_, PI2_SIMD)(const pi2_ack_plant *plant, size_t n, const double *s, double *values)
{
    line *const delayed = malloc(plant->delays * sizeof *delayed);
    if (!delayed)
        return 0;
    double echo[LANES];
    fill(echo, 1.0);
    for (size_t at = 0; at < lines_of(n); at++) {
        const size_t lanes = lanes_of(n, at);
        line here, u, found;
        for (size_t i = 0; i < LANES; i++) { /* lanes beyond the last point repeat it */
            const double *const point = s + 2 * (at * LANES + (i < lanes ? i : lanes - 1));
            here.re[i] = point[0];
            here.im[i] = point[1];
        }
        for (size_t d = 0; d < plant->delays; d++)
            for (size_t i = 0; i < LANES; i++) {
                const double point[2] = {here.re[i], here.im[i]};
                const number e = i < lanes ? late(point, plant->delay[d])
                                           : (number){delayed[d].re[lanes - 1], delayed[d].im[lanes - 1]};
                delayed[d].re[i] = e.re;
                delayed[d].im[i] = e.im;
            }
        invert(&here, &u);
        respond(plant, &here, &u, delayed, echo, &found);
        for (size_t i = 0; i < lanes; i++) {
            values[2 * (at * LANES + i)] = found.re[i];
            values[2 * (at * LANES + i) + 1] = found.im[i];
        }
    }
    free(delayed);
    return 1;
}

/* Adds to sum[0] whole G/s, to sum[1] mean G/s (s + rate)^2, to sum[2] whole/(s + rate)^2. */
static void add_line(const line *values, const line *s, const line *u, double rate, const double *whole,
                     const double *mean, number *sum)
{
    line rest, far, square, level, known;
    multiply(values, u, &rest);
    for (int i = 0; i < LANES; i++) {
        far.re[i] = s->re[i] + rate;
        far.im[i] = s->im[i];
    }
    multiply(&far, &far, &square);
    multiply(&rest, &square, &level);
    invert(&square, &known);
    for (int i = 0; i < LANES; i++) {
        sum[0].re += whole[i] * rest.re[i];
        sum[0].im += whole[i] * rest.im[i];
        sum[1].re += mean[i] * level.re[i];
        sum[1].im += mean[i] * level.im[i];
        sum[2].re += whole[i] * known.re[i];
        sum[2].im += whole[i] * known.im[i];
    }
}

/* e^{-s delay} of many delays. */
static void late_each(const double *s, size_t n, const double *delay, number *to)
{
    for (size_t first = 0; first < n; first += 4) {
        double some[4];
        number found[4];
        const size_t many = n - first < 4 ? n - first : 4;
        for (size_t i = 0; i < 4; i++)
            some[i] = delay[first + (i < many ? i : many - 1)];
        late_four(s, some, found);
        for (size_t i = 0; i < many; i++)
            to[first + i] = found[i];
    }
}

/* What add_line adds of all lines, of one class alone whose window law has one state: in one loop, with fewer divisions. */
PI2_INLINE void sum_alone(const int reduces, const pi2_ack_sums *sums, const double *s, const number *e, number *sum)
{
    const pi2_ack_plant *const plant = sums->plant;
    const pi2_ack_class *const law = &plant->cls->law;
    const line *const round = &sums->turn[plant->cls->rtt * sums->lines];
    const line *const through = &sums->turn[plant->through * sums->lines];
    const number er = e[plant->cls->rtt], et = e[plant->through];
    const double even = (1.0 - plant->rest.bunch) / law->rtt, together = plant->rest.bunch / 2.0;
    const double rate = 1.0 / sums->interval, shift = 2.0 * PI2_PI / sums->interval;
    line total = {{0.0}, {0.0}}, level = {{0.0}, {0.0}}, known = {{0.0}, {0.0}};
    for (size_t at = 0; at < sums->lines; at++) {
        const double *const whole = sums->whole + at * LANES, *const mean = sums->mean + at * LANES;
        const double first = (double)(at * LANES) - (double)sums->pairs;
        for (int i = 0; i < LANES; i++) {
            const double sr = s[0], si = s[1] + shift * (first + (double)i), far = sr + rate;
            /* 1/s and 1/(s + rate)^2 share a division */
            const double s2 = sr * sr + si * si, far2 = far * far + si * si, over = 1.0 / (s2 * (far2 * far2));
            const double one = over * (far2 * far2), ur = one * sr, ui = -one * si;
            const double qr = far * far - si * si, qi = 2.0 * far * si; /* (s + rate)^2 */
            const double kr = over * s2 * qr, ki = -over * s2 * qi;
            double pr = 1.0, pi = 0.0;
            if (reduces) {
                const double cr = er.re * round[at].re[i] - er.im * round[at].im[i];
                const double ci = er.re * round[at].im[i] + er.im * round[at].re[i];
                const double br = 1.0 - cr, bi = -ci;
                pr = even * (br * ur - bi * ui) + together * (1.0 + cr);
                pi = even * (br * ui + bi * ur) + together * ci;
            }
            const double or0 = law->own[0][0] + law->own[0][1] * sr, oi0 = law->own[0][1] * si;
            const double or1 = law->own[1][0] + law->own[1][1] * sr, oi1 = law->own[1][1] * si;
            const double gr0 = law->signal[0][0] + law->signal[0][1] * sr, gi0 = law->signal[0][1] * si;
            const double gr1 = law->signal[1][0] + law->signal[1][1] * sr, gi1 = law->signal[1][1] * si;
            const double wr = or0 + (pr * or1 - pi * oi1), wi = oi0 + (pr * oi1 + pi * or1);
            const double gr = gr0 + (pr * gr1 - pi * gi1), gi = gi0 + (pr * gi1 + pi * gr1);
            const double tr = et.re * through[at].re[i] - et.im * through[at].im[i];
            const double ti = et.re * through[at].im[i] + et.im * through[at].re[i];
            const double size = -law->rtt / (wr * wr + wi * wi);
            const double ar = size * (gr * wr + gi * wi), ai = size * (gi * wr - gr * wi); /* -R signal/own */
            const double br = ar * tr - ai * ti, bi = ar * ti + ai * tr;
            const double vr = br * ur - bi * ui, vi = br * ui + bi * ur; /* G/s */
            total.re[i] += whole[i] * vr;
            total.im[i] += whole[i] * vi;
            level.re[i] += mean[i] * (vr * qr - vi * qi);
            level.im[i] += mean[i] * (vr * qi + vi * qr);
            known.re[i] += whole[i] * kr;
            known.im[i] += whole[i] * ki;
        }
    }
    sum[0] = add_up(&total);
    sum[1] = add_up(&level);
    sum[2] = add_up(&known);
}

int PI2_JOIN(pi2_ack_sums_, PI2_SIMD)(const pi2_ack_sums *sums, size_t n, const double *s, double *values)
{
    const pi2_ack_plant *const plant = sums->plant;
    const double T = sums->interval, rate = 1.0 / T;
    const int fast = plant->alone && plant->cls->own <= 1 && plant->cls->signal <= 1;
    const held square = hold(T, 0.0, rate, (const double[]){1.0, 0.0, 0.0});
    line *const delayed = malloc(plant->delays * sizeof *delayed);
    number *const e = malloc(plant->delays * sizeof *e);
    if (!delayed || !e) {
        free(delayed);
        free(e);
        return 0;
    }
    for (size_t p = 0; p < n; p++) {
        const double *const s_p = s + 2 * p;
        number sum[3] = {{0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}};
        number y;
        if (fast) { /* of one or two delays */
            number four[4];
            const double last = plant->delay[plant->delays - 1];
            late_four(s_p, (const double[]){plant->delay[0], last, T, T}, four);
            e[0] = four[0];
            e[plant->delays - 1] = four[1];
            y = four[2];
        } else {
            late_each(s_p, plant->delays, plant->delay, e);
            y = late(s_p, T);
        }
        if (fast && plant->cls->law.reduces)
            sum_alone(1, sums, s_p, e, sum);
        else if (fast)
            sum_alone(0, sums, s_p, e, sum);
        for (size_t at = fast ? sums->lines : 0; at < sums->lines; at++) {
            const size_t first = at * LANES;
            double echo[LANES];
            line here, u, found;
            fill(echo, sums->echoing ? 1.0 : 0.0);
            if (sums->pairs >= first && sums->pairs < first + LANES)
                echo[sums->pairs - first] = 1.0;
            for (size_t i = 0; i < LANES; i++) {
                here.re[i] = s_p[0];
                here.im[i] = s_p[1] + 2.0 * PI2_PI * ((double)(first + i) - (double)sums->pairs) / T;
            }
            for (size_t d = 0; d < plant->delays; d++) {
                const line *const turn = &sums->turn[d * sums->lines + at];
                for (int i = 0; i < LANES; i++) {
                    delayed[d].re[i] = e[d].re * turn->re[i] - e[d].im * turn->im[i];
                    delayed[d].im[i] = e[d].re * turn->im[i] + e[d].im * turn->re[i];
                }
            }
            invert(&here, &u);
            respond(plant, &here, &u, delayed, echo, &found);
            add_line(&found, &here, &u, rate, sums->whole + first, sums->mean + first, sum);
        }
        /* Of terms that are everywhere 1/(s_k + 1/T)^2 the sum over T is known; from it comes what was summed. */
        const number everywhere = held_sum(&square, y, (number){1.0, 0.0});
        const number beyond = times(sum[1], (number){everywhere.re - sum[2].re / T, everywhere.im - sum[2].im / T});
        values[2 * p] = sum[0].re / T + beyond.re;
        values[2 * p + 1] = sum[0].im / T + beyond.im;
    }
    free(delayed);
    free(e);
    return 1;
}
