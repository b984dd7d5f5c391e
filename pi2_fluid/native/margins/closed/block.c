/* Margins of blocks of points, as loops that a compiler turns into vector code.
 *
 * Compiled once per instruction set (PI2_SIMD names it, see CMakeLists.txt); margins.c picks one at run time.
 * A point's answer never depends on its neighbours: a converged lane is not moved by the passes others need.
 * Independent quotients of one loop share one division, the slowest instruction here.
 */
#include "margins/vector/block.h"

#include "margins/closed/domain.h"
#include "margins/closed/lane.h"

#define PI2_JOIN_(a, b) a##b
#define PI2_JOIN(a, b) PI2_JOIN_(a, b)
#define B PI2_BLOCK

typedef struct {
    double u[B];              /* v^2 near the phase crossover */
    double v[B], s[B], c[B];  /* v at the gain crossover, sin v, cos v */
    double w_pc[B];           /* v at the phase crossover */
    double over[B], under[B]; /* the gain margin is over/under */
    uint64_t left[B];         /* 1 while the gain crossover has not converged */
} pi2_work;

/* sqrt(1 + x) - 1 for the x of a step, which is held within [-0.9, 1]: 7 % there, 1e-16 for |x| < 1e-3. */
PI2_INLINE double half_step(double x)
{
    x = x > -0.9 ? x : -0.9;
    x = x < 1.0 ? x : 1.0;
    return x * (0.5 - x * (0.125 - x * (0.0625 - x * (0.0390625 - x * 0.02734375))));
}

PI2_INLINE void begin(const int scalable, const pi2_points p, pi2_work *k)
{
    for (int i = 0; i < B; i++) {
        const double m = p.m[i], mu = p.mu[i], a = p.a[i], c = p.c[i];
        k->u[i] = pi2_phase_start(scalable, mu, a, c);
        k->v[i] = pi2_gain_start(scalable, mu, m * a, m * c);
    }
}

PI2_INLINE void first(const int scalable, const pi2_points p, pi2_work *k)
{
    for (int i = 0; i < B; i++) {
        const double m = p.m[i], mu = p.mu[i], a = p.a[i], c = p.c[i], u = k->u[i], v = k->v[i];
        const pi2_phase_step f = pi2_phase(scalable, 1, mu, a, c, u);
        const pi2_gain_step g = pi2_gain(scalable, 1, mu, m * a, m * c, v);
        const double r = 1.0 / (f.den * g.den);
        k->u[i] = u + f.num * (r * g.den);
        k->v[i] = v + v * half_step(g.num * (r * f.den));
    }
}

/* v, sin v and cos v after a step of relative size x in u; returns 1 unless they have converged. */
PI2_INLINE uint64_t move(const pi2_gain_step g, double x, double v, double *moved, double *s, double *c)
{
    const double step = v * half_step(x), t = step * step;
    const double sd = step - step * t * (1.0 / 6), cd = t * (0.5 - t * (1.0 / 24));
    *moved = v + step;
    *s = g.s + (g.c * sd - g.s * cd);
    *c = g.c - (g.s * sd + g.c * cd);
    return (g.sure & (g.den > 0.0) & (fabs(x) <= 1e-3) & (fabs(step) <= 1e-3)) ? 0 : 1;
}

PI2_INLINE uint64_t second(const int scalable, const pi2_points p, pi2_work *k)
{
    uint64_t any = 0;
    for (int i = 0; i < B; i++) {
        const double m = p.m[i], mu = p.mu[i], a = p.a[i], c = p.c[i];
        const pi2_phase_step f = pi2_phase(scalable, 0, mu, a, c, k->u[i]);
        const pi2_gain_step g = pi2_gain(scalable, 0, mu, m * a, m * c, k->v[i]);
        const double r = 1.0 / (f.den * g.den);
        /* the step is below 1.2e-5 u: Taylor's series carries s0 and cos v along */
        const double du = f.num * (r * g.den), half = 0.5 * du;
        const double u = k->u[i] + du;
        const double s0 = f.s0 - half * (f.s1 - 0.5 * half * f.s2);
        const double cosine = (f.s0 - k->u[i] * f.s1) - half * (f.s0 - 0.5 * half * f.s1);
        const double d = a + c * u;
        k->over[i] = (u + u * u) * (scalable ? cosine : 1.0 + cosine);
        k->under[i] = m * (scalable ? d : d + d * cosine + (c - a) * (u * s0));
        k->w_pc[i] = sqrt(u);
        k->left[i] = move(g, g.num * (r * f.den), k->v[i], &k->v[i], &k->s[i], &k->c[i]);
        any |= k->left[i];
    }
    return any;
}

PI2_INLINE uint64_t again(const int scalable, const pi2_points p, pi2_work *k)
{
    uint64_t any = 0;
    for (int i = 0; i < B; i++) {
        const double m = p.m[i], mu = p.mu[i], a = p.a[i], c = p.c[i];
        const pi2_gain_step g = pi2_gain(scalable, 0, mu, m * a, m * c, k->v[i]);
        double v, sine, cosine;
        const uint64_t left = move(g, g.num / g.den, k->v[i], &v, &sine, &cosine);
        const uint64_t go = k->left[i];
        k->v[i] = go ? v : k->v[i];
        k->s[i] = go ? sine : k->s[i];
        k->c[i] = go ? cosine : k->c[i];
        k->left[i] = go & left;
        any |= go & left;
    }
    return any;
}

/* Is every intermediate number of this point a normal one? Other points are left to point.c. */
PI2_INLINE int usual(const int scalable, double m, double mu, double a, double c, double rtt, double v)
{
    const double low = 1e-10, high = 1e10;
    return (m >= low) & (m <= high) & (a >= low) & (a <= high) & (c >= low) & (c <= high) & (rtt >= low)
        & (rtt <= high) & ((mu >= PI2_LEAST) | (mu == 0.0))
        & (mu <= (scalable ? PI2_MU_SCALABLE : PI2_MU_RENO)) & (v <= PI2_SINCOS_LIMIT);
}

PI2_INLINE uint64_t finish(const int scalable, const pi2_points p, pi2_work *k, const pi2_results q)
{
    uint64_t any = 0;
    for (int i = 0; i < B; i++) {
        const double mu = p.mu[i], a = p.a[i], c = p.c[i], rtt = p.rtt[i], v = k->v[i];
        /* the phase margin is arg(j X Y) - v, X = (a + jcv)(1 - jv), Y = conj(jv + mu h): |arg| < pi */
        const double xr = a + c * v * v, xi = v * (c - a);
        const double yr = scalable ? mu * k->c[i] : mu + mu * k->c[i], yi = v - mu * k->s[i];
        const double y = xr * yr + xi * yi, x = xr * yi - xi * yr;
        double num, den, base, top, bottom, exponent;
        pi2_atan2_reduce(y, x, &num, &den, &base);
        const int crosses = k->over[i] > 0.0; /* not for mu = 0, c <= 2a */
        pi2_decibels_reduce(crosses ? k->over[i] : 1.0, k->under[i], &top, &bottom, &exponent);
        const double r = 1.0 / (den * bottom * rtt);
        const double decibels = pi2_decibels_finish(top * (r * (den * rtt)), exponent);
        const double angle = pi2_atan2_finish(y, x, num * (r * (bottom * rtt)), base);
        const double hertz = r * (den * bottom);
        q.gm_db[i] = crosses ? decibels : -INFINITY;
        q.pm_deg[i] = (angle - v) * (180.0 / PI2_PI);
        q.w_gc[i] = v * hertz;
        q.w_pc[i] = k->w_pc[i] * hertz;
        const uint64_t left = usual(scalable, p.m[i], mu, a, c, rtt, v) ? k->left[i] : 1;
        k->left[i] = left;
        any |= left;
    }
    return any;
}

PI2_INLINE uint64_t margins(const int scalable, int passes, const pi2_points p, const pi2_results q, uint64_t *left)
{
    pi2_work k;
    begin(scalable, p, &k);
    first(scalable, p, &k);
    uint64_t any = second(scalable, p, &k);
    while (any && passes-- > 0)
        any = again(scalable, p, &k);
    any = finish(scalable, p, &k, q);
    if (any)
        memcpy(left, k.left, sizeof k.left);
    return any;
}

uint64_t PI2_JOIN(pi2_margins_reno_, PI2_SIMD)(int passes, pi2_points p, pi2_results q, uint64_t *left)
{
    return margins(0, passes, p, q, left);
}

uint64_t PI2_JOIN(pi2_margins_scalable_, PI2_SIMD)(int passes, pi2_points p, pi2_results q, uint64_t *left)
{
    return margins(1, passes, p, q, left);
}
