/* The mathematics of one point: starting values, iterations and margins.
 *
 * L(jv) = m (a + j c v) e^{-jv} / (jv (1 + jv) (jv + mu h)),  v = w R,  u = v^2,
 * h = 1 + e^{-jv} for the Reno family, e^{-jv} for a scalable sender (`scalable`, a constant at every call).
 * Nothing here branches on data, so that loops over these functions become vector code.
 */
#pragma once

#include "elementary.h"

/* Positive root of k2 x^2 + k1 x - k0, k0 >= 0, k2 > 0 where k1 <= 0, without cancellation, to 0.5 %. */
PI2_INLINE double pi2_rough_root(double k2, double k1, double k0)
{
    const double square = k1 * k1 + 4.0 * k2 * k0;
    const double root = square * pi2_rough_rsqrt(square);
    const double num = k1 > 0.0 ? 2.0 * k0 : root - k1;
    const double den = k1 > 0.0 ? k1 + root : 2.0 * k2;
    return num * pi2_rough_reciprocal(den);
}

/* ---- phase = -180 degrees -------------------------------------------------------------------------
 * Where L is real and negative, with s0 = sin v / v and s1 = (s0 - cos v) / u (elementary.h),
 *   G(u) = A s0 + B s1 - mu (a + c u) = 0,   A = A0 + A1 u + c u^2,   B = u (B0 + B1 u),
 *   Reno:     A0 = -mu a, A1 = 2a - c - mu (2c - a), B0 = mu a, B1 = c - a + mu c,
 *   scalable: A0 = 0,     A1 = 2a - c,               B0 = 0,    B1 = c - a.
 * G is entire in u, and the root depends on the bounded numbers a/(a + c) and mu only, with 0 <= v < pi/2: the
 * start and two steps give it to rounding error everywhere (tests/margins.c scans that rectangle). */

/* Within 2.4 % of the root, and 1.2e-5 after one step, for every a, c > 0 and mu of the domain: the
 * root of a quadratic whose coefficients were fitted (least maximum error) to the exact solution. */
PI2_INLINE double pi2_phase_start(const int scalable, double mu, double a, double c)
{
    const double k2 = scalable ? 1.335424 * c - 0.308105 * a : 1.367461 * c - 0.453958 * a;
    const double k1 = scalable ? (2.0 * a - c) - mu * (1.143195 * c + 0.144829 * a)
                               : (2.0 * a - c) - mu * (2.668718 * c - 1.174787 * a);
    return pi2_rough_root(k2, k1, (scalable ? 1.0 : 2.0) * (mu * a));
}

typedef struct {
    double num, den;   /* Halley's step in u is num/den */
    double s0, s1, s2; /* at the u it starts from */
} pi2_phase_step;

PI2_INLINE pi2_phase_step pi2_phase(const int scalable, const int rough, double mu, double a, double c, double u)
{
    const double s0 = rough ? pi2_rough_s0(u) : pi2_s0(u);
    const double s1 = rough ? pi2_rough_s1(u) : pi2_s1(u);
    const double s2 = rough ? pi2_rough_s2(u) : pi2_s2(u);
    const double ma = mu * a, mc = mu * c;
    const double a1 = scalable ? 2.0 * a - c : (2.0 * a - c) - mu * (2.0 * c - a);
    const double b1 = scalable ? c - a : c - a + mc;
    const double a_ = scalable ? u * (a1 + c * u) : u * (a1 + c * u) - ma;
    const double ad = a1 + 2.0 * c * u;                    /* dA/du */
    const double bu = scalable ? b1 * u : ma + b1 * u;     /* B/u */
    const double bd = bu + b1 * u;                         /* dB/du */
    const double b_ = u * bu;
    const double g = (a_ * s0 + b_ * s1) - (ma + mc * u);
    const double g1 = (ad * s0 + (bd - 0.5 * a_) * s1) - (0.5 * b_ * s2 + mc);
    const double g2 = 2.0 * c * s0 + (2.0 * b1 - ad - 0.25 * bu) * s1 + (0.25 * a_ - bd + 1.25 * bu) * s2;
    const double den = g1 * g1 - 0.5 * g * g2;
    /* den vanishes only at the double root u = 0 of mu = 0, c = 2a, which stays */
    const pi2_phase_step step = {-g * g1, den > 0.0 ? den : 1.0, s0, s1, s2};
    return step;
}

/* ---- |L| = 1 ---------------------------------------------------------------------------------------
 * F(u) = u (1 + u) q(u) - (m a)^2 - (m c)^2 u = 0, q = |jv + mu h|^2: one root, where F turns positive. */

/* Root of the quadratic u (q0 + W u) = (m a)^2 + (m c)^2 u, where q0 + W u is the chord of (1 + u) q from 0 to a
 * first guess, the root for mu = 0. As a rule within 2 % of v; the worst of two million random loops, 31 %. */
PI2_INLINE double pi2_gain_start(const int scalable, double mu, double ma, double mc)
{
    const double aa = ma * ma, cc = mc * mc;
    const double u0 = 0.5 * pi2_rough_sqrt(1.0 + 4.0 * (cc + ma * pi2_rough_5_16(1.0 + ma))) - 0.5;
    const double q0 = scalable ? mu * mu : 4.0 * (mu * mu);
    const double bend = scalable ? 2.0 * mu : mu * (2.0 + mu);
    const double slope = 1.0 - bend * pi2_rough_reciprocal(1.0 + u0 * ((1.0 / 6) + 0.02 * u0));
    const double u = pi2_rough_root(q0 + (slope + u0 * slope), q0 - cc, aa);
    return u * pi2_rough_rsqrt(u);
}

typedef struct {
    double num, den; /* Householder's step of fourth order, relative in u, is num/den */
    int sure;        /* small enough for its error, of fourth order, to vanish */
    double s, c;     /* sin v, cos v at the v it starts from */
} pi2_gain_step;

PI2_INLINE pi2_gain_step pi2_gain(const int scalable, const int rough, double mu, double ma, double mc, double v)
{
    double s, c;
    pi2_sincos(rough, v, &s, &c);
    const double u = v * v, vs = v * s, uc = u * c;
    const double p = mu * vs, gp = scalable ? p : p + mu * p, g = scalable ? mu : mu + mu * mu;
    const double z = gp + mu * uc;
    const double y = (gp - g * uc) + u * p;
    /* q and q1, q2, q3 = u^k d^k q/du^k, of which q2 = y/2 and q3 = (z + 2 p) u/4 - 3 y/4 */
    const double k = 2.0 * mu * mu;
    const double q = scalable ? (u - 2.0 * p) + mu * mu : (u - 2.0 * p) + (k + k * c);
    const double q1 = u - z;
    const double uu = u * u, w = u + uu, w1 = w + uu, ccu = mc * mc * u;
    const double wy = 0.25 * w * y;
    const double f = w * q - (ma * ma + ccu);
    const double f1 = (w1 * q + w * q1) - ccu;                                    /* u F' */
    const double f2 = (uu * q + w1 * q1) + wy;                                    /* u^2 F''/2 */
    const double f3 = (uu * q1 + 0.25 * w1 * y) + ((1.0 / 24) * w * u * (z + 2.0 * p) - 0.5 * wy); /* u^3 F'''/6 */
    const double h = f * f2, t = f1 * f1 - h;
    const pi2_gain_step step = {-f * t, f1 * (t - h) + f * f * f3, fabs(h) <= 3e-4 * f1 * f1, s, c};
    return step;
}
