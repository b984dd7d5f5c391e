#include "margins/aliases/discs.h"

#include <math.h>

typedef struct {
    double w, rtt, mu, dw, drtt, dmu, slope_re, slope_im, bend;
} box;

typedef struct {
    double re, im, size, rho, by_w, by_rtt, by_mu;
    int good;
} term;

static double larger(double a, double b) { return a > b ? a : b; }

static double size_of(double re, double im) { return sqrt(re * re + im * im); }

/* The term of the alias at w_k, whose e^{-jv} is re + j im. */
static term term_at(const pi2_disc_family *p, const box *b, double w_k, double re, double im)
{
    const double v = w_k * b->rtt, dv = b->rtt * b->dw + fabs(w_k) * b->drtt + b->dw * b->drtt;
    const double q = 1.0 / (1.0 + v * v); /* 1/(1 + jv) = (1 - jv) q */
    double hr = p->scalable ? re : 1.0 + re, hi = im, sr = im, si = -re;
    term found;
    if (p->exact) {
        const double er = q * (1.0 - re - v * im), ei = -q * (im + v * (1.0 - re)); /* (1 - e^{-jv})/(1 + jv) */
        const double xr = re - er, xi = im - ei;
        hr += er;
        hi += ei;
        sr -= q * (xi - v * xr);
        si += q * (xr + v * xi);
    }
    const double dr = b->mu * hr, di = v + b->mu * hi;
    const double square = dr * dr + di * di, over = 1.0 / square, scale = -q * over / v;
    /* G = e^{-jv}/(jv (1 + jv) d) = -e^{-jv} (v + j)(dr - j di) q/(v |d|^2) */
    const double gr = v * re - im, gi = v * im + re;
    found.re = scale * (gr * dr + gi * di);
    found.im = scale * (gi * dr - gr * di);
    found.size = size_of(found.re, found.im);
    /* d ln G/dv = -j - 1/v - j/(1 + jv) - (j + mu h')/d, d ln G/dmu = -h/d */
    const double tr = b->mu * sr * over, ti = (1.0 + b->mu * si) * over;
    const double vr = -1.0 / v - v * q - (tr * dr + ti * di), vi = -1.0 - q - (ti * dr - tr * di);
    const double mr = -over * (hr * dr + hi * di), mi = -over * (hi * dr - hr * di);
    const double high = b->mu + b->dmu, low = larger(fabs(v) - dv, 0.0), steepest = 1.0 + high * p->steepest;
    const double least = larger(sqrt(square) - steepest * dv - p->echo * b->dmu, low * (1.0 - high));
    const double near = 1.0 / least, steep = steepest * near, echo = p->echo * near;
    const double by_vv = 1.0 / (low * low) + 1.0 / (1.0 + low * low) + high * p->bend * near + steep * steep;
    const double by_vm = p->steepest * near + steep * echo, by_mm = echo * echo;
    const double size = size_of(vr, vi), bends = by_vv * dv + by_vm * b->dmu;
    const double own = p->falling ? -1.0 / b->mu : 0.0;
    const double to_w = size_of(b->slope_re + b->rtt * vr, b->slope_im + b->rtt * vi) + b->bend * b->dw + b->drtt * size
                        + (b->rtt + b->drtt) * bends;
    const double to_rtt = size_of(2.0 / b->rtt + w_k * vr, w_k * vi) + b->dw * size + (fabs(w_k) + b->dw) * bends;
    const double to_mu = size_of(own + mr, mi) + by_vm * dv + by_mm * b->dmu
                         + (p->falling ? b->dmu / (b->mu * larger(b->mu - b->dmu, 0.0)) : 0.0);
    found.by_w = to_w * b->dw;
    found.by_rtt = to_rtt * b->drtt;
    found.by_mu = to_mu * b->dmu;
    found.rho = found.by_w + found.by_rtt + found.by_mu;
    found.good = low > 0.0 && least > 0.0 && found.rho < p->largest;
    return found;
}

void pi2_disc_terms(const pi2_disc_family *p, size_t n, pi2_disc_boxes boxes, pi2_disc_sums sums)
{
    for (size_t i = 0; i < n; i++) {
        const box b = {boxes.w[i],    boxes.rtt[i],      boxes.mu[i],       boxes.dw[i],  boxes.drtt[i],
                       boxes.dmu[i], boxes.slope_re[i], boxes.slope_im[i], boxes.bend[i]};
        const double first = (boxes.w[i] - p->aliases * p->turn) * b.rtt, c = cos(p->turn * b.rtt), s = sin(p->turn * b.rtt);
        double re = cos(first), im = -sin(first), sum_re = 0.0, sum_im = 0.0, whole = 0.0, spread = 0.0;
        int good = 1;
        for (int k = -p->aliases; k <= p->aliases; k++) {
            const term found = term_at(p, &b, b.w + k * p->turn, re, im);
            const double turned = re * c + im * s;
            im = im * c - re * s;
            re = turned;
            sum_re += found.re;
            sum_im += found.im;
            whole += found.size;
            spread += found.size * expm1(found.good ? found.rho : p->largest);
            good &= found.good;
            if (k == 0) {
                sums.by_w[i] = found.by_w;
                sums.by_rtt[i] = found.by_rtt;
                sums.by_mu[i] = found.by_mu;
            }
        }
        sums.re[i] = sum_re;
        sums.im[i] = sum_im;
        sums.whole[i] = whole;
        sums.spread[i] = spread;
        sums.good[i] = good;
    }
}
