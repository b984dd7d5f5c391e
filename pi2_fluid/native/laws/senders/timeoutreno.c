/* TCP Reno with retransmission timeouts: see pi2_fluid/laws/senders/timeoutreno.py for where it comes from. Padhye,
 * Firoiu, Towsley, Kurose (SIGCOMM 1998), section II.B: the mean length of a series of timeouts. */
#include "laws/sender.h"
#include "laws/senders/reno.h"

#define OWN(F) F(min_rto) /* s that the timer waits beyond a round trip */
#define FIELDS(F) PI2_RENO_FIELDS(F) OWN(F)

typedef struct {
    pi2_reno reno;
    OWN(PI2_FIELD)
} timeoutreno;

enum { WINDOW, SENDING };

/* The mean length of a series of timeouts that double six times, in units of the first. */
static double backoff(double p)
{
    return 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
}

static void initial(const void *law, double window, double *x)
{
    (void)law;
    x[WINDOW] = window;
    x[SENDING] = 1.0;
}

static void rate(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, const signed char *sides, double *dx)
{
    const timeoutreno *p = law;
    const double signals = x_delayed[0] / rtt_delayed * signal_delayed;
    const double back = (1.0 - signal_delayed) / ((rtt + p->min_rto) * backoff(signal_delayed));
    (void)sides;
    dx[WINDOW] = pi2_reno_rate(&p->reno, x[WINDOW], signals, 1.0 / rtt);
    dx[SENDING] = (1.0 - x[SENDING]) * back - x[SENDING] * signals * signal_delayed;
}

static double sending_rate(const void *law, const double *x, double rtt)
{
    (void)law;
    return x[SENDING] * x[WINDOW] / rtt;
}

const pi2_sender_law pi2_sender_timeoutreno = {
    .name = "timeoutreno",
    PI2_CONFIGURED_BY(FIELDS),
    .states = 2,
    .initial = initial,
    .rate = rate,
    .sending_rate = sending_rate,
    .leave_slow_start = pi2_window_stays,
};
