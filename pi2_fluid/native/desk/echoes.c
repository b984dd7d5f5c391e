#include "desk/echoes.h"

#include <math.h>

/* The highest power of 1/s of G that is kept, and one more for what has a lead. */
enum { HIGHEST = 3, OWN = HIGHEST + 1 };

size_t pi2_most_echoes(size_t classes)
{
    /* Of each class by itself its round-trip time once to three times, and of each two classes their sum. */
    return 3 * classes + classes * classes;
}

/* c (s - a0 - a1 e)^-1 (now + before e): the coefficient of e^j/s^(m + 1) into of[m][j]. */
static void respond(const pi2_linear_flows *p, const double *now, const double *before, double of[OWN][OWN + 1])
{
    const int n = p->states;
    double v[OWN + 1][PI2_STATES] = {{0.0}};
    for (int i = 0; i < n; i++) {
        v[0][i] = now[i];
        v[1][i] = before ? before[i] : 0.0;
    }
    for (int m = 0; m < OWN; m++) {
        double next[OWN + 2][PI2_STATES] = {{0.0}};
        for (int j = 0; j <= OWN; j++) {
            of[m][j] = 0.0;
            for (int i = 0; i < n; i++)
                of[m][j] += p->c[i] * v[j][i];
            for (int i = 0; i < n; i++)
                for (int k = 0; k < n; k++) {
                    next[j][i] += p->a0[i][k] * v[j][k];
                    next[j + 1][i] += p->a1[i][k] * v[j][k];
                }
        }
        for (int j = 0; j <= OWN; j++)
            for (int i = 0; i < n; i++)
                v[j][i] = next[j][i];
    }
}

/* The terms of orders 2, 3 and 4 of 1/s in powers of 1/(s + rate). */
static pi2_echo recentre(double delay, const double *order, double rate)
{
    return (pi2_echo){delay,
                      {order[0], order[1] + 2.0 * rate * order[0],
                       order[2] + 3.0 * rate * order[1] + 3.0 * rate * rate * order[0]}};
}

static int any(const double *order)
{
    return order[0] != 0.0 || order[1] != 0.0 || order[2] != 0.0;
}

size_t pi2_expand_flows(size_t classes, const pi2_linear_flows *linear, double interval, pi2_echo *echo)
{
    /* The queue obeys s d = -drive u + feedback d with feedback = still + first/s + ..., so that G = drive/(s - feedback)
     * = drive (1/s + still/s^2 + (still^2 + first)/s^3 + ...). */
    double still = 0.0, first = 0.0;
    size_t count = 0;
    for (size_t c = 0; c < classes; c++) {
        const pi2_linear_flows *const p = linear + c;
        still += p->weight * p->r;
        for (int i = 0; i < p->states; i++)
            first += p->weight * p->c[i] * p->e0[i];
    }
    const double inverse[HIGHEST] = {1.0, still, still * still + first};
    for (size_t c = 0; c < classes; c++) {
        const pi2_linear_flows *const p = linear + c;
        double own[OWN][OWN + 1], drive[HIGHEST][HIGHEST + 1] = {{0.0}};
        respond(p, p->b, 0, own);
        /* e^j/s^m, m from 0, once more delayed: what is heard comes a round trip later. */
        for (int m = 0; m < HIGHEST; m++)
            for (int j = 1; j <= HIGHEST; j++)
                drive[m][j] = -p->weight * ((m > 0 ? own[m - 1][j - 1] : 0.0) + p->lead * own[m][j - 1]);
        for (int j = 1; j <= HIGHEST; j++) {
            double order[HIGHEST] = {0.0};
            for (int m = 0; m < HIGHEST; m++)
                for (int k = 0; m + k < HIGHEST; k++)
                    order[m + k] += drive[m][j] * inverse[k];
            if (any(order))
                echo[count++] = recentre(j * p->rtt, order, 1.0 / interval);
        }
        /* What leads at once, and comes back through the delay that others feel one round trip later. */
        for (size_t d = 0; d < classes && drive[0][1] != 0.0; d++) {
            double late = 0.0;
            for (int i = 0; i < linear[d].states; i++)
                late += linear[d].weight * linear[d].c[i] * linear[d].e1[i];
            const double order[HIGHEST] = {0.0, 0.0, drive[0][1] * late};
            if (any(order))
                echo[count++] = recentre(p->rtt + linear[d].rtt, order, 1.0 / interval);
        }
    }
    return count;
}
