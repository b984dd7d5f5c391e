/* Margins by the clock of acknowledgements of blocks of points, as loops that a compiler turns into vector code.
 *
 * Compiled once per instruction set, as block.c. A point's answer never depends on its neighbours: a converged lane is not
 * moved by the passes that others need.
 */
#include "margins/closed/ack_lane.h"
#include "margins/closed/ack_margins.h"
#include "margins/vector/block.h"

#define PI2_JOIN_(a, b) a##b
#define PI2_JOIN(a, b) PI2_JOIN_(a, b)
#define B PI2_BLOCK

enum { PASSES = 8 };

/* v e^step, the step held within what is worth a step: to rounding where it is small. */
PI2_INLINE double moved(double v, double step)
{
    double x = step > -0.7 ? step : -0.7;
    x = x < 0.7 ? x : 0.7;
    const double even = 12.0 + x * x, odd = 6.0 * x;
    return v * ((even + odd) / (even - odd));
}

PI2_INLINE uint64_t move(double step, double *v, uint64_t *left)
{
    const uint64_t go = *left, next = fabs(step) < 1e-9 ? 0 : 1; /* its square is lost in rounding */
    *v = go ? moved(*v, step) : *v;
    *left = go & next;
    return go & next;
}

PI2_INLINE void margins(const int reduces, const pi2_ack_points p, const pi2_results q, uint64_t *left)
{
    double v_gc[B], v_pc[B];
    uint64_t gains[B], phases[B], any = 1;
    for (int i = 0; i < B; i++) {
        v_gc[i] = pi2_ack_gain_start(p.gain[i], p.a[i], p.c[i], p.own[i], p.cut[i]);
        v_pc[i] = pi2_ack_phase_start(reduces, p.a[i], p.c[i], p.own[i], p.cut[i], p.delay[i]);
        gains[i] = phases[i] = 1;
    }
    for (int pass = 0; any && pass < PASSES; pass++) {
        any = 0;
        for (int i = 0; i < B; i++) {
            double slope;
            const double v = v_gc[i], db = pi2_ack_gain(reduces, p.gain[i], p.a[i], p.c[i], p.own[i], p.cut[i], v, &slope);
            any |= move(-db * 0.11512925464970229 / slope, &v_gc[i], &gains[i]); /* ln 10/20 */
        }
    }
    any = 1;
    for (int pass = 0; any && pass < PASSES; pass++) {
        any = 0;
        for (int i = 0; i < B; i++) {
            double slope;
            const double v = v_pc[i];
            const double above = pi2_ack_phase(reduces, p.a[i], p.c[i], p.own[i], p.cut[i], p.delay[i], v, &slope);
            any |= move(-above / slope, &v_pc[i], &phases[i]);
        }
    }
    for (int i = 0; i < B; i++) {
        double slope;
        const double a = p.a[i], c = p.c[i], own = p.own[i], cut = p.cut[i], gc = v_gc[i], pc = v_pc[i];
        q.gm_db[i] = -pi2_ack_gain(reduces, p.gain[i], a, c, own, cut, pc, &slope);
        q.pm_deg[i] = pi2_ack_phase(reduces, a, c, own, cut, p.delay[i], gc, &slope) * (180.0 / PI2_PI);
        q.w_gc[i] = gc;
        q.w_pc[i] = pc;
        const int within = (gc >= PI2_ACK_FIRST) & (gc <= PI2_ACK_LAST) & (pc >= PI2_ACK_FIRST) & (pc <= PI2_ACK_LAST);
        left[i] = within ? gains[i] | phases[i] : 1;
    }
}

void PI2_JOIN(pi2_ack_at_once_, PI2_SIMD)(pi2_ack_points points, pi2_results results, uint64_t *left)
{
    margins(0, points, results, left);
}

void PI2_JOIN(pi2_ack_reduced_, PI2_SIMD)(pi2_ack_points points, pi2_results results, uint64_t *left)
{
    margins(1, points, results, left);
}
