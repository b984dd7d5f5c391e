/* Paganini's source: its rate falls with the price at once, and slowly finds its utility. The state is the window that
 * it would have without prices. Paganini, Wang, Low, Doyle (2002), equations (6), (19), (20) and (21). */
#include "laws/senders/paganini.h"

#include "laws/sender.h"

typedef pi2_paganini paganini;

static double sending_rate_under(const void *law, const double *x, double signal, double rtt)
{
    const paganini *p = law;
    const double most = p->largest_rate > 0.0 ? p->largest_rate : x[0] / rtt;
    return most * exp(-pi2_paganini_damping(p, pi2_paganini_price(p, signal), rtt));
}

static void rate(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, const signed char *sides, double *dx)
{
    const paganini *p = law;
    (void)sides;
    (void)x_delayed;
    (void)rtt_delayed;
    dx[0] = 0.0;
    if (p->largest_rate == 0.0) {
        const double wanted = pi2_paganini_wanted(p, sending_rate_under(law, x, signal_delayed, rtt));
        dx[0] = p->beta * x[0] / rtt * (wanted - pi2_paganini_price(p, signal_delayed));
    }
}

const pi2_sender_law pi2_sender_paganini = {
    .name = "paganini",
    PI2_CONFIGURED_BY(PI2_PAGANINI_FIELDS),
    .states = 1,
    .initial = pi2_window_initial,
    .rate = rate,
    .sending_rate = pi2_window_sending_rate,
    .sending_rate_under = sending_rate_under,
    .leave_slow_start = pi2_window_stays,
};
