#include "desk/network_rest.h"

#include <math.h>
#include <string.h>

/* So little that it changes no digit where something else signals, too, and a window of 1e15. */
#define NO_SIGNAL 1e-30
/* A link that would have to signal less than this signals nothing. */
#define LEAST_SIGNAL 1e-12
/* Of log(y/C), where Newton's method has converged. */
#define CONVERGED 1e-11
/* Of the largest pivot: with a smaller one what links signal is not unique. */
#define UNIQUE 1e-7
enum { LINKS = PI2_DESK_LINKS, STEPS = 60 };

/* At coordinates v. */
typedef struct {
    double excess[LINKS]; /* log(y/C), y what arrives */
    double rtt[LINKS];    /* s, of the mean packet that arrives */
} arrivals;

static double clipped(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

static void arrive(const pi2_desk_network *network, const double *v, arrivals *to)
{
    pi2_queue_at_rest at[LINKS];
    double signal[LINKS][2], total[LINKS] = {0.0}, waited[LINKS] = {0.0};
    for (int l = 0; l < network->links; l++) {
        pi2_queue_rests_at(network->link + l, fmax(v[l], 0.0) * network->link[l].highest, at + l, signal[l]);
        /* Below 0 it waits for less than it begins to signal at. */
        const double part = v[l] > 0.0 ? 1.0 : fmin(1.0 + v[l], 1.0);
        for (int k = 0; k < 2; k++) {
            at[l].delay[k] *= part;
            signal[l][k] = fmax(signal[l][k], NO_SIGNAL);
        }
    }
    const int *route = network->route;
    for (int c = 0; c < network->classes; route += network->hops[c++]) {
        const pi2_desk_flows *const flows = network->flows + c;
        const int l4s = flows->hears == PI2_HEARS_SCALABLE;
        double p = 0.0, rtt = flows->base_rtt;
        for (int k = 0; k < network->hops[c]; k++) {
            const int l = route[k];
            const double own = flows->hears == PI2_HEARS_NOTHING ? 0.0 : signal[l][l4s];
            p = network->adds ? p + own : p + own - p * own;
            rtt += at[l].delay[network->link[l].bands == 2 && l4s];
        }
        pi2_flows_at_rest rest;
        pi2_flows_rest_at(flows, fmin(p, 1.0), rtt, &rest);
        for (int k = 0; k < network->hops[c]; k++) {
            total[route[k]] += flows->count * rest.rate;
            waited[route[k]] += flows->count * rest.rate * rtt;
        }
    }
    for (int l = 0; l < network->links; l++) {
        to->excess[l] = log(total[l] / (network->link[l].packets * network->link[l].load));
        to->rtt[l] = waited[l] / fmax(total[l], NO_SIGNAL);
    }
}

/* Moves every link a little towards y = C, all at once, as their controllers do. */
static void relax(const pi2_desk_network *network, const double *begins, int sweeps, double *v)
{
    double begin[LINKS]; /* where signals begin again, after they were found to be needless */
    for (int l = 0; l < network->links; l++)
        begin[l] = 1e-2;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        arrivals here, off;
        double next[LINKS];
        arrive(network, v, &here);
        for (int l = 0; l < network->links; l++) {
            const double step = 0.3 * clipped(here.excess[l], -2.0, 2.0);
            if (v[l] > 0.0) {
                const double kept = v[l];
                v[l] = 0.0;
                arrive(network, v, &off);
                v[l] = kept;
                if (off.excess[l] < 0.0) {
                    begin[l] = 0.5 * fmin(v[l], begin[l]);
                    next[l] = 0.0;
                } else {
                    next[l] = clipped(v[l] * exp(step), LEAST_SIGNAL, 1.0);
                }
            } else {
                /* A queue delay takes about its part of the mean round-trip time from what arrives. */
                const double waits = v[l] + clipped(step * here.rtt[l] / fmax(begins[l], 1e-9), -0.5, 0.5);
                next[l] = waits > 0.0 ? fmax(begin[l], LEAST_SIGNAL) : fmax(waits, -1.0);
            }
        }
        memcpy(v, next, sizeof(double) * (size_t)network->links);
    }
}

/* a x = b, by elimination; 0 if what is left of a column is next to nothing. */
static int solve(int n, double a[LINKS][LINKS], double *b)
{
    double largest = 0.0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[best][k]))
                best = i;
        largest = fmax(largest, fabs(a[best][k]));
        if (!(fabs(a[best][k]) > UNIQUE * largest))
            return 0;
        for (int j = 0; j < n; j++) {
            const double kept = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = kept;
        }
        const double kept = b[k];
        b[k] = b[best];
        b[best] = kept;
        for (int i = k + 1; i < n; i++) {
            const double factor = a[i][k] / a[k][k];
            for (int j = k; j < n; j++)
                a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
    return 1;
}

/* Newton's method on the full links, in log v or the delay; 0 if they do not stay so. */
static int polish(const pi2_desk_network *network, const double *from, double *v)
{
    int full[LINKS], signals[LINKS], size = 0;
    memcpy(v, from, sizeof(double) * (size_t)network->links);
    for (int l = 0; l < network->links; l++)
        if (v[l] > -1.0) {
            signals[size] = v[l] > 0.0;
            full[size++] = l;
        }
    double last = INFINITY;
    for (int round = 0; round < STEPS; round++) {
        arrivals here, moved;
        double slopes[LINKS][LINKS], step[LINKS], worst = 0.0;
        arrive(network, v, &here);
        for (int i = 0; i < size; i++) {
            const double residual = here.excess[full[i]];
            if (!isfinite(residual))
                return 0;
            worst = fmax(worst, fabs(residual));
            step[i] = -residual;
        }
        if (worst < CONVERGED && worst >= 0.5 * last) {
            for (int l = 0; l < network->links; l++)
                if (v[l] <= -1.0 && !(here.excess[l] <= CONVERGED))
                    return 0;
            return 1;
        }
        last = worst;
        for (int j = 0; j < size; j++) {
            const double h = signals[j] ? 1e-6 : -1e-6, kept = v[full[j]];
            v[full[j]] = signals[j] ? kept * exp(h) : kept + h;
            arrive(network, v, &moved);
            v[full[j]] = kept;
            for (int i = 0; i < size; i++)
                slopes[i][j] = (moved.excess[full[i]] - here.excess[full[i]]) / h;
        }
        if (!solve(size, slopes, step))
            return 0;
        for (int i = 0; i < size; i++) {
            double *const own = v + full[i];
            const double by = clipped(step[i], -1.0, 1.0);
            *own = signals[i] ? *own * exp(by) : *own + by;
            if (signals[i] ? !(*own > LEAST_SIGNAL && *own <= 1.0) : !(fabs(*own + 0.5) <= 0.5))
                return 0;
        }
    }
    return 0;
}

int pi2_find_network_rest(const pi2_desk_network *network, double *v)
{
    static const int sweeps[] = {12, 38, 100, 200};
    double begins[LINKS], from[LINKS], most[LINKS] = {0.0};
    int crossed[LINKS] = {0}, hops = 0;
    for (int c = 0; c < network->classes; c++)
        hops += network->hops[c];
    for (int k = 0; k < hops; k++)
        crossed[network->route[k]] = 1;
    for (int l = 0; l < network->links; l++) {
        pi2_queue_at_rest at;
        double signal[2];
        pi2_queue_rests_at(network->link + l, 0.0, &at, signal);
        begins[l] = fmax(at.delay[0], at.delay[1]);
        from[l] = crossed[l] ? 0.1 : -1.0;
        most[l] = crossed[l] ? 1.0 : -1.0;
    }
    arrivals beyond;
    arrive(network, most, &beyond);
    for (int l = 0; l < network->links; l++)
        if (beyond.excess[l] > CONVERGED)
            return 0;
    for (size_t k = 0; k < sizeof sweeps / sizeof *sweeps; k++) {
        relax(network, begins, sweeps[k], from);
        if (polish(network, from, v))
            return 1;
    }
    return 0;
}
