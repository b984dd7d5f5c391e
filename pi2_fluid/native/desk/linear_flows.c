#include "desk/linear_flows.h"

#include <math.h>
#include <string.h>

#include "desk/polynomials.h"

/* Inputs of `rate`: the state twice, p, the round-trip time twice. */
enum { MOST_SLOPES = (2 * PI2_STATES + 3) * PI2_STATES };

int pi2_linearize_flows(const pi2_desk_flows *flows, const pi2_flow_slopes *slopes, const pi2_flows_at_rest *rest,
                        const pi2_coupling *coupling, pi2_linear_flows *linear)
{
    const int n = flows->states;
    if (n > PI2_STATES)
        return 0;
    double in[2 * PI2_STATES + 3], by[MOST_SLOPES], sent[PI2_STATES + 1];
    memcpy(in, rest->x, sizeof(double) * (size_t)n);
    memcpy(in + n, rest->x, sizeof(double) * (size_t)n);
    in[2 * n] = rest->p;
    in[2 * n + 1] = in[2 * n + 2] = rest->rtt;
    pi2_tape_run(slopes->rate, in, flows->numbers, 0, by);
    in[n] = rest->p;
    in[n + 1] = rest->rtt;
    pi2_tape_run(slopes->sending, in, flows->numbers, 0, sent);
    for (int k = 0; k < (2 * n + 3) * n; k++)
        if (!isfinite(by[k]))
            return 0;
    for (int k = 0; k <= n; k++)
        if (!isfinite(sent[k]))
            return 0;
    const double feels = coupling->feels ? 1.0 : 0.0, exact = coupling->exact ? feels : 0.0;
    *linear = (pi2_linear_flows){.states = n, .weight = coupling->weight, .rtt = rest->rtt, .lead = coupling->lead};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            linear->a0[i][j] = by[j * n + i];
            linear->a1[i][j] = by[(n + j) * n + i];
        }
        linear->b[i] = by[2 * n * n + i] * coupling->slope;
        linear->e0[i] = by[(2 * n + 1) * n + i] * exact;
        linear->e1[i] = by[(2 * n + 2) * n + i] * exact;
        linear->c[i] = sent[i];
    }
    linear->r = sent[n] * feels;
    return 1;
}

/* --- polynomials ----------------------------------------------------------------------------- */

/* c adj(M) v with M = s - a0 - a1 e: minus the determinant of M with both as a border. */
static pi2_in_s_and_e through(int n, pi2_in_s_and_e matrix[PI2_STATES + 1][PI2_STATES + 1], const double *c,
                              const double *now, const double *before)
{
    for (int i = 0; i < n; i++) {
        matrix[i][n] = (pi2_in_s_and_e){{{now[i], before ? before[i] : 0.0}}};
        matrix[n][i] = (pi2_in_s_and_e){{{c[i]}}};
    }
    matrix[n][n] = (pi2_in_s_and_e){{{0.0}}};
    pi2_in_s_and_e found = pi2_determinant(n + 1, matrix);
    for (int i = 0; i < PI2_POWERS; i++)
        for (int j = 0; j < PI2_POWERS; j++)
            found.of[i][j] = -found.of[i][j];
    return found;
}

static void flatten(const pi2_in_s_and_e *from, int n, double *to)
{
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++)
            to[i * (n + 1) + j] = from->of[i][j];
}

/* The 2-norm of a vector, and of a matrix: the root of the largest eigenvalue of its square, by Jacobi's rotations. */
static double length(int n, const double *v)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

static double norm(int n, const double a[PI2_STATES][PI2_STATES])
{
    if (n == 1)
        return fabs(a[0][0]);
    double s[PI2_STATES][PI2_STATES] = {{0.0}};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                s[i][j] += a[k][i] * a[k][j];
    for (int sweep = 0; sweep < 12; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                if (s[p][q] == 0.0)
                    continue;
                const double half = 0.5 * (s[q][q] - s[p][p]) / s[p][q];
                const double t = (half < 0.0 ? -1.0 : 1.0) / (fabs(half) + sqrt(half * half + 1.0));
                const double c = 1.0 / sqrt(t * t + 1.0), d = t * c;
                for (int k = 0; k < n; k++) {
                    const double x = s[k][p], y = s[k][q];
                    s[k][p] = c * x - d * y;
                    s[k][q] = d * x + c * y;
                }
                for (int k = 0; k < n; k++) {
                    const double x = s[p][k], y = s[q][k];
                    s[p][k] = c * x - d * y;
                    s[q][k] = d * x + c * y;
                }
            }
    double most = 0.0;
    for (int i = 0; i < n; i++)
        most = fmax(most, s[i][i]);
    return sqrt(most);
}

void pi2_describe_flows(const pi2_linear_flows *linear, pi2_linear_class *cls)
{
    const int n = linear->states;
    pi2_in_s_and_e matrix[PI2_STATES + 1][PI2_STATES + 1];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            matrix[i][j] = (pi2_in_s_and_e){{{-linear->a0[i][j], -linear->a1[i][j]}}};
            if (i == j)
                matrix[i][j].of[1][0] = 1.0;
        }
    *cls = (pi2_linear_class){.states = n, .r = linear->r, .weight = linear->weight, .rtt = linear->rtt,
                              .lead = linear->lead};
    const pi2_in_s_and_e own = pi2_determinant(n, matrix);
    const pi2_in_s_and_e signal = through(n, matrix, linear->c, linear->b, 0);
    const pi2_in_s_and_e delay = through(n, matrix, linear->c, linear->e0, linear->e1);
    flatten(&own, n, cls->own);
    flatten(&signal, n, cls->signal);
    flatten(&delay, n, cls->delay);
    cls->rates = norm(n, linear->a0) + norm(n, linear->a1);
    cls->heard = length(n, linear->b);
    cls->shown = length(n, linear->c);
    cls->felt = length(n, linear->e0) + length(n, linear->e1);
}

double pi2_fastest_rate(const pi2_linear_flows *linear)
{
    const int n = linear->states;
    if (n == 1)
        return fabs(linear->a0[0][0]) + fabs(linear->a1[0][0]);
    pi2_in_s_and_e matrix[PI2_STATES + 1][PI2_STATES + 1];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            matrix[i][j] = (pi2_in_s_and_e){{{-fabs(linear->a0[i][j]) - fabs(linear->a1[i][j])}}};
            if (i == j)
                matrix[i][j].of[1][0] = 1.0;
        }
    const pi2_in_s_and_e own = pi2_determinant(n, matrix);
    double rising[PI2_POWERS], re[PI2_MOST_ROOTS], im[PI2_MOST_ROOTS], most = 0.0;
    for (int i = 0; i <= n; i++)
        rising[i] = own.of[i][0];
    const int found = pi2_polynomial_roots(rising, n, re, im);
    for (int k = 0; k < found; k++)
        most = fmax(most, hypot(re[k], im[k]));
    return found < 0 ? NAN : most;
}
