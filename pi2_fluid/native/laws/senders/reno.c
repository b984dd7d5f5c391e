#include "laws/senders/reno.h"
#include "laws/sender.h"

static void rate(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, const signed char *sides, double *dx)
{
    (void)sides;
    dx[0] = pi2_reno_rate(law, x[0], x_delayed[0] / rtt_delayed * signal_delayed, 1.0 / rtt);
}

static double acked(const void *law, const double *x, double acks, double marks, double rtt, double *dx)
{
    (void)rtt;
    return pi2_reno_acked(law, x[0], acks, marks, dx);
}

const pi2_sender_law pi2_sender_reno = {
    .name = "reno",
    PI2_CONFIGURED_BY(PI2_RENO_FIELDS),
    .states = 1,
    .initial = pi2_window_initial,
    .rate = rate,
    .acked = acked,
    .sending_rate = pi2_window_sending_rate,
    .leave_slow_start = pi2_window_stays,
};
