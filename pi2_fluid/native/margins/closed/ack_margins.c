#include "margins/closed/ack_margins.h"

#include <math.h>

#include "margins/closed/ack_lane.h"
#include "margins/vector/block.h"

/* Numbers of loops: none of what is computed of them overflows. */
#define LEAST 1e-25
#define MOST 1e25

typedef struct {
    double gain, a, c, own, cut, delay;
} form;

static form form_at(pi2_ack_input in, size_t i)
{
    return (form){in.gain[i], in.a[i], in.c[i], in.own[i], in.cut[i], in.delay[i]};
}

/* What the proof asks for, of window laws that are equal to it but for rounding; not a number is refused, too. */
static int proved(form p)
{
    const double rest = 1.0 - 0.5 * p.cut;
    return (p.gain >= LEAST) & (p.gain <= MOST) & (p.a >= LEAST) & (p.a <= MOST) & (p.c >= 0.0) & (p.c <= MOST)
        & (p.delay >= 0.0) & (p.delay <= MOST) & (p.cut >= 0.0) & (p.own >= LEAST) & (p.own <= MOST)
        & (p.own >= p.cut * (1.0 - 1e-9)) & (rest > 0.0) & (3.0 * rest * rest > p.cut * (p.own + p.cut));
}

static double value_at(int reduces, const form *p, int phase, double v, double *slope)
{
    if (phase)
        return reduces ? pi2_ack_phase(1, p->a, p->c, p->own, p->cut, p->delay, v, slope)
                       : pi2_ack_phase(0, p->a, p->c, p->own, p->cut, p->delay, v, slope);
    return reduces ? pi2_ack_gain(1, p->gain, p->a, p->c, p->own, p->cut, v, slope)
                   : pi2_ack_gain(0, p->gain, p->a, p->c, p->own, p->cut, v, slope);
}

/* Where a curve that falls through 0 does so, by Newton's method in ln v; a step that leaves the bracket or does not halve
 * is a bisection instead. NaN if it does not between PI2_ACK_FIRST and PI2_ACK_LAST. */
static double crossing(int reduces, const form *p, int phase, double start)
{
    const double unit = phase ? 1.0 : log(10.0) / 20.0;
    double low = PI2_ACK_FIRST, high = PI2_ACK_LAST, v = start, last = 1.0;
    while (high - low > 1e-12 * low) {
        double slope;
        const double value = value_at(reduces, p, phase, v, &slope), step = -value * unit / slope;
        if (value > 0.0)
            low = v;
        else
            high = v;
        const double next = v * exp(step);
        const int sure = fabs(step) <= 0.5 * last && next >= low && next <= high;
        if (sure && fabs(step) < 1e-9) /* its square is lost in rounding */
            return next;
        last = sure ? fabs(step) : 1.0;
        v = sure ? next : sqrt(low * high);
    }
    return NAN;
}

static void store(pi2_ack_output out, size_t i, double gm_db, double pm_deg, double v_gc, double v_pc)
{
    out.gm_db[i] = gm_db;
    out.pm_deg[i] = pm_deg;
    out.v_gc[i] = v_gc;
    out.v_pc[i] = v_pc;
}

/* One point, slowly and surely. */
static void solve(int reduces, const form *p, pi2_ack_output out, size_t i)
{
    const double gain_start = pi2_ack_gain_start(p->gain, p->a, p->c, p->own, p->cut);
    const double phase_start = pi2_ack_phase_start(reduces, p->a, p->c, p->own, p->cut, p->delay);
    const double v_gc = crossing(reduces, p, 0, gain_start), v_pc = crossing(reduces, p, 1, phase_start);
    if (isnan(v_gc) || isnan(v_pc)) {
        store(out, i, NAN, NAN, NAN, NAN);
        return;
    }
    double slope;
    store(out, i, -value_at(reduces, p, 0, v_pc, &slope), value_at(reduces, p, 1, v_gc, &slope) * (180.0 / PI2_PI), v_gc,
          v_pc);
}

void pi2_ack_margins(int reduces, size_t n, pi2_ack_input in, pi2_ack_output out)
{
    const pi2_simd *const simd = pi2_simd_at(0);
    uint64_t left[PI2_BLOCK];
    for (size_t start = 0; start < n; start += PI2_BLOCK) {
        const size_t count = n - start < PI2_BLOCK ? n - start : PI2_BLOCK;
        const int whole = count == PI2_BLOCK;
        if (whole) {
            const pi2_ack_points points = {in.gain + start, in.a + start, in.c + start,
                                           in.own + start, in.cut + start, in.delay + start};
            const pi2_results results = {out.gm_db + start, out.pm_deg + start, out.v_gc + start, out.v_pc + start};
            simd->ack[reduces != 0](points, results, left);
        }
        for (size_t i = 0; i < count; i++) {
            const form p = form_at(in, start + i);
            if (!proved(p))
                store(out, start + i, NAN, NAN, NAN, NAN);
            else if (!whole || left[i])
                solve(reduces, &p, out, start + i);
        }
    }
}
