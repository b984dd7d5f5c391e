#include "desk/controller.h"

#include <math.h>
#include <string.h>

enum { MOST = PI2_CONTROLLER_STATES };

/* Where a law rests its answer to more arrivals is 0 up to rounding, and its variable what it was asked to be up to the
 * accuracy of the solver. */
#define ROUNDING 1e-9
#define APART 1e-6

typedef double matrix[MOST][MOST];

/* h (1 - F y)^-1 g as polynomials in y, by the recursion of Faddeev and LeVerrier. */
static void transfer(int n, const matrix F, const double *g, const double *h, double *numerator, double *denominator)
{
    matrix adjugate = {{0.0}}, moved;
    for (int i = 0; i < n; i++)
        adjugate[i][i] = 1.0;
    denominator[0] = 1.0;
    for (int order = 1; order <= n; order++) {
        double sum = 0.0, trace = 0.0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                sum += h[i] * adjugate[i][j] * g[j];
        numerator[order - 1] = sum;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                moved[i][j] = 0.0;
                for (int k = 0; k < n; k++)
                    moved[i][j] += F[i][k] * adjugate[k][j];
            }
        for (int i = 0; i < n; i++)
            trace += moved[i][i];
        denominator[order] = -trace / order;
        memcpy(adjugate, moved, sizeof adjugate);
        for (int i = 0; i < n; i++)
            adjugate[i][i] += denominator[order];
    }
}

static int finite(const double *values, int count)
{
    for (int k = 0; k < count; k++)
        if (!isfinite(values[k]))
            return 0;
    return 1;
}

/* Without what nothing moves: a parameter. Returns how many states are left. */
static int without_still(int n, matrix F, double *g, double *h)
{
    int kept[MOST], count = 0;
    for (int i = 0; i < n; i++) {
        int moves = g[i] != 0.0;
        for (int j = 0; j < n; j++)
            moves |= F[i][j] != 0.0;
        if (moves)
            kept[count++] = i;
    }
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++)
            F[i][j] = F[kept[i]][kept[j]];
        g[i] = g[kept[i]];
        h[i] = h[kept[i]];
    }
    return count;
}

static void turn_round(double *values, int count)
{
    for (int i = 0; 2 * i < count - 1; i++) {
        const double first = values[i];
        values[i] = values[count - 1 - i];
        values[count - 1 - i] = first;
    }
}

static int trimmed(const double *values, int degree)
{
    while (degree > 0 && values[degree] == 0.0)
        degree--;
    return degree;
}

int pi2_linearize_queue(const pi2_desk_queue *queue, const pi2_controller_slopes *slopes, const pi2_queue_at_rest *at,
                        pi2_linear_controller *controller)
{
    int n = queue->states;
    const int bands = queue->bands;
    if (n > MOST)
        return 0;
    double rest[MOST + 2], in[MOST + 4], by[(MOST + 3) * MOST], h[MOST], shown;
    const double given[] = {at->u, queue->packets};
    pi2_tape_run(queue->at_rest, given, queue->numbers, 0, rest);
    pi2_tape_run(slopes->shows, rest, queue->numbers, 0, &shown);
    if (!(fabs(shown - at->u) <= APART * (1e-3 + fabs(at->u))))
        return 0;
    memcpy(in, rest, sizeof(double) * (size_t)n);
    double waiting = 0.0;
    for (int band = 0; band < bands; band++)
        waiting += in[n + band] = at->delay[band];
    in[n + bands] = in[n + bands + 1] = queue->packets;
    pi2_tape_run(slopes->moves, in, queue->numbers, 0, by);
    pi2_tape_run(slopes->picks, rest, queue->numbers, 0, h);
    if (!finite(by, (n + bands + 1) * n) || !finite(h, n))
        return 0;
    matrix F;
    double g[MOST], most = 0.0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            F[i][j] = by[j * n + i];
        g[i] = 0.0;
        for (int band = 0; band < bands; band++)
            g[i] += by[(n + band) * n + i];
        most = fmax(most, fabs(g[i]));
        if (fabs(by[(n + bands) * n + i] * queue->packets) > ROUNDING * fabs(g[i]) * waiting)
            return 0;
    }
    if (most == 0.0)
        return 0;
    if (!slopes->ticks)
        n = without_still(n, F, g, h);
    transfer(n, (const double(*)[MOST])F, g, h, controller->numerator, controller->denominator);
    if (slopes->ticks) {
        controller->top = trimmed(controller->numerator, n - 1);
        controller->bottom = trimmed(controller->denominator, n);
    } else {
        /* With y = 1/s both sides are multiplied by s^n: the order of the coefficients turns round. */
        turn_round(controller->numerator, n);
        turn_round(controller->denominator, n + 1);
        controller->top = n - 1;
        controller->bottom = n;
    }
    return 1;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* times (1 + sign x) */
static void widen(double *polynomial, int degree, double sign)
{
    for (int k = degree; k > 0; k--)
        polynomial[k] += sign * polynomial[k - 1];
}

/* The sum of value[j] (1 - x)^j (1 + x)^(last - j), `last` 0: of the first factor alone. */
static void recombine(const double *value, int degree, int last, int both, double *to)
{
    for (int k = 0; k <= last; k++)
        to[k] = 0.0;
    for (int j = 0; j <= degree; j++) {
        double basis[MOST + 1] = {1.0};
        for (int k = 0; k < j; k++)
            widen(basis, MOST, -1.0);
        for (int k = j; both && k < last; k++)
            widen(basis, MOST, 1.0);
        for (int k = 0; k <= last; k++)
            to[k] += value[j] * basis[k];
    }
}

int pi2_in_steps(const pi2_linear_controller *controller, double *top, double *bottom)
{
    const int degree = larger(controller->top, controller->bottom);
    recombine(controller->numerator, controller->top, degree, 0, top);
    recombine(controller->denominator, controller->bottom, degree, 0, bottom);
    return degree;
}

int pi2_in_continuous_time(const pi2_linear_controller *controller, double *top, double *bottom)
{
    const int degree = larger(controller->top, controller->bottom);
    recombine(controller->numerator, controller->top, degree, 1, top);
    recombine(controller->denominator, controller->bottom, degree, 1, bottom);
    return degree;
}
