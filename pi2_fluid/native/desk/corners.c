#include "desk/corners.h"

#include <math.h>

#include "desk/polynomials.h"

/* Of the imaginary part of a corner: from there on a grid shows what it does. */
#define DAMPED 0.2

static int take(const double *rising, int degree, double unit, pi2_corners *corners)
{
    double re[PI2_MOST_ROOTS], im[PI2_MOST_ROOTS];
    const int found = pi2_polynomial_roots(rising, degree, re, im);
    for (int k = 0; k < found; k++) {
        const double size = hypot(re[k], im[k]) / unit;
        if (size > 0.0)
            corners->slow = fmin(corners->slow, size);
        corners->sharp += im[k] > 0.0 && fabs(re[k]) < DAMPED * fabs(im[k]);
    }
    return found >= 0;
}

/* A polynomial of a class at e = 1, by powers of s. */
static int still(const double *of, int n, double *rising)
{
    for (int i = 0; i <= n; i++) {
        rising[i] = 0.0;
        for (int j = 0; j <= n; j++)
            rising[i] += of[i * (n + 1) + j];
    }
    return n;
}

static int multiply(double *a, int degree, const double *b, int other)
{
    double product[PI2_MOST_ROOTS + 1] = {0.0};
    for (int i = 0; i <= degree; i++)
        for (int j = 0; j <= other; j++)
            product[i + j] += a[i] * b[j];
    for (int k = 0; k <= degree + other; k++)
        a[k] = product[k];
    return degree + other;
}

/* The modes of classes that feel the queue, and of the queue, together: the roots of s P - sum of weight (r own + delay)
 * times the others' own, P the product of all. */
static int take_together(size_t classes, const pi2_linear_class *cls, pi2_corners *corners)
{
    size_t states = 1;
    for (size_t c = 0; c < classes; c++)
        states += (size_t)cls[c].states;
    if (states > PI2_MOST_ROOTS)
        return 0;
    double whole[PI2_MOST_ROOTS + 1] = {0.0, 1.0}, part[PI2_MOST_ROOTS + 1], own[PI2_POWERS];
    int degree = 1;
    for (size_t c = 0; c < classes; c++)
        degree = multiply(whole, degree, own, still(cls[c].own, cls[c].states, own));
    for (size_t c = 0; c < classes; c++) {
        double felt[PI2_POWERS];
        const int n = still(cls[c].own, cls[c].states, own);
        (void)still(cls[c].delay, n, felt);
        for (int i = 0; i <= n; i++)
            part[i] = cls[c].weight * (cls[c].r * own[i] + felt[i]);
        int size = n;
        for (size_t d = 0; d < classes; d++)
            if (d != c)
                size = multiply(part, size, own, still(cls[d].own, cls[d].states, own));
        for (int i = 0; i <= size; i++)
            whole[i] -= part[i];
    }
    return take(whole, degree, 1.0, corners);
}

int pi2_find_corners(size_t classes, const pi2_linear_flows *linear, const pi2_linear_class *cls, int degree,
                     const double *top, const double *bottom, double unit, pi2_corners *corners)
{
    *corners = (pi2_corners){INFINITY, 0};
    int known = take(top, degree, unit, corners) && take(bottom, degree, unit, corners), coupled = 0;
    double queue = 0.0;
    for (size_t c = 0; c < classes && known; c++) {
        double rising[PI2_POWERS];
        corners->slow = fmin(corners->slow, 1.0 / cls[c].rtt);
        if (cls[c].lead != 0.0)
            corners->slow = fmin(corners->slow, 1.0 / fabs(cls[c].lead));
        if (cls[c].states > 1)
            known = take(rising, still(cls[c].signal, cls[c].states, rising), 1.0, corners);
        queue += cls[c].weight * cls[c].r;
        for (int i = 0; i < cls[c].states; i++)
            coupled |= linear[c].e0[i] != 0.0 || linear[c].e1[i] != 0.0;
    }
    if (known && coupled)
        return take_together(classes, cls, corners);
    if (queue != 0.0)
        corners->slow = fmin(corners->slow, fabs(queue));
    for (size_t c = 0; c < classes && known; c++) {
        double rising[PI2_POWERS];
        known = take(rising, still(cls[c].own, cls[c].states, rising), 1.0, corners);
    }
    return known;
}
