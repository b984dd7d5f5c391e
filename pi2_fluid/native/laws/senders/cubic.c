/* TCP Cubic, averaged over the epochs between two signals: see pi2_fluid/laws/senders/cubic.py for where it comes
 * from. RFC 9438, sections 4.2, 4.3 and 4.6. */
#include <math.h>

#include "laws/sender.h"

#define FIELDS(F) \
    F(increase) /* segments per round trip by which the Reno-friendly estimate grows */ \
    F(c)        /* segments/s^3 */ \
    F(decrease) /* fraction of the window removed per signal */

typedef struct {
    FIELDS(PI2_FIELD)
} cubic;

enum { WINDOW, W_MAX, EPOCH, VARIANCE };

/* The mean of a linear epoch, in parts of w_max. */
static double mean(const cubic *p)
{
    return 1.0 - p->decrease / 2.0;
}

/* Segments per second gained by the cubic. */
static double growth(const cubic *p, const double *x)
{
    const double late = x[EPOCH] - cbrt(p->decrease * x[W_MAX] / p->c);
    return p->c * (3.0 * late * late + x[VARIANCE]);
}

static void initial(const void *law, double window, double *x)
{
    x[WINDOW] = window;
    x[W_MAX] = window / mean(law);
    x[EPOCH] = 0.0;
    x[VARIANCE] = 0.0;
}

/* What signals per second change, beside the growth of the cubic or the friendly estimate; returns the cut of the
 * window apart from that. */
static double moves(const cubic *p, const double *x, double signals, double friendly, double *dx)
{
    const double steep = growth(p, x), peak = x[WINDOW] / mean(p);
    dx[WINDOW] = steep > friendly ? steep : friendly;
    dx[W_MAX] = (peak - x[W_MAX]) * signals;
    dx[EPOCH] = 1.0 - x[EPOCH] * signals;
    dx[VARIANCE] = (x[EPOCH] * x[EPOCH] - x[VARIANCE]) * signals;
    return p->decrease * peak * signals;
}

static void rate(const void *law, const double *x, double window_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, double *dx)
{
    const double signals = window_delayed / rtt_delayed * signal_delayed;
    const double cut = moves(law, x, signals, ((const cubic *)law)->increase / rtt, dx);
    dx[WINDOW] -= cut;
}

static double acked(const void *law, const double *x, double acks, double marks, double rtt, double *dx)
{
    (void)rtt;
    return moves(law, x, marks, ((const cubic *)law)->increase * acks / x[WINDOW], dx);
}

static void leave_slow_start(const void *law, double *x)
{
    initial(law, x[WINDOW], x);
}

static void switch_values(const void *law, const double *x, double signal, double rtt, double *values)
{
    const cubic *p = law;
    (void)signal;
    values[0] = growth(p, x) - p->increase / rtt;
}

const pi2_sender_law pi2_sender_cubic = {
    .name = "cubic",
    PI2_CONFIGURED_BY(FIELDS),
    .states = 4,
    .switches = 1,
    .initial = initial,
    .rate = rate,
    .acked = acked,
    .sending_rate = pi2_window_sending_rate,
    .leave_slow_start = leave_slow_start,
    .switch_values = switch_values,
};
