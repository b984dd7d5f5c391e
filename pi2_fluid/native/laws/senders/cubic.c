/* TCP Cubic, averaged over the epochs between two signals: see pi2_fluid/laws/senders/cubic.py for where it comes
 * from. RFC 9438, sections 4.2, 4.3 and 4.6. */
#include "laws/senders/cubic.h"
#include "laws/sender.h"

static void initial(const void *law, double window, double *x)
{
    x[PI2_CUBIC_WINDOW] = window;
    x[PI2_CUBIC_W_MAX] = window / pi2_cubic_mean(law);
    x[PI2_CUBIC_EPOCH] = 0.0;
    x[PI2_CUBIC_VARIANCE] = 0.0;
}

static void rate(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, const signed char *sides, double *dx)
{
    const double signals = x_delayed[0] / rtt_delayed * signal_delayed;
    const double cut = pi2_cubic_moves(law, x, signals, ((const pi2_cubic *)law)->increase / rtt, dx);
    (void)sides;
    dx[PI2_CUBIC_WINDOW] -= cut;
}

static double acked(const void *law, const double *x, double acks, double marks, double rtt, double *dx)
{
    (void)rtt;
    return pi2_cubic_acked(law, x, acks, marks, dx);
}

static void leave_slow_start(const void *law, double *x)
{
    initial(law, x[PI2_CUBIC_WINDOW], x);
}

static void switch_values(const void *law, const double *x, double signal, double rtt, double *values)
{
    const pi2_cubic *p = law;
    (void)signal;
    values[0] = pi2_cubic_growth(p, x) - p->increase / rtt;
}

const pi2_sender_law pi2_sender_cubic = {
    .name = "cubic",
    PI2_CONFIGURED_BY(PI2_CUBIC_FIELDS),
    .states = 4,
    .switches = 1,
    .initial = initial,
    .rate = rate,
    .acked = acked,
    .sending_rate = pi2_window_sending_rate,
    .leave_slow_start = leave_slow_start,
    .switch_values = switch_values,
};
