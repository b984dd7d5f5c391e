/* Constant bit rate: sends the same whatever the queue signals; its window is without effect. */
#include "laws/sender.h"

#define FIELDS(F) F(rate) /* packets/s of one flow */

typedef struct {
    FIELDS(PI2_FIELD)
} cbr;

static void rate(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, const signed char *sides, double *dx)
{
    (void)sides;
    (void)law;
    (void)x_delayed;
    (void)signal_delayed;
    (void)rtt;
    (void)rtt_delayed;
    dx[0] = 0.0 * x[0];
}

static double sending_rate(const void *law, const double *x, double rtt)
{
    (void)x;
    (void)rtt;
    return ((const cbr *)law)->rate;
}

const pi2_sender_law pi2_sender_cbr = {
    .name = "cbr",
    PI2_CONFIGURED_BY(FIELDS),
    .states = 1,
    .steady = 1,
    .initial = pi2_window_initial,
    .rate = rate,
    .sending_rate = sending_rate,
    .leave_slow_start = pi2_window_stays,
};
