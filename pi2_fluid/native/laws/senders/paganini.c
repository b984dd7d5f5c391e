/* Paganini's source: its rate falls with the price at once, and slowly finds its utility. The state is the window that
 * it would have without prices. Paganini, Wang, Low, Doyle (2002), equations (6), (19), (20) and (21). */
#include <math.h>

#include "laws/sender.h"

#define FIELDS(F) \
    F(alpha)        /* gain on the price */ \
    F(beta)         /* gain of the utility */ \
    F(k)            /* size of the utility */ \
    F(fairness)     /* exponent of its slope */ \
    F(links)        /* on the path, with a price */ \
    F(phi)          /* base of the marking probability */ \
    F(largest_rate) /* of a static one: segments/s at a price of 0; 0: it has a utility */

typedef struct {
    FIELDS(PI2_FIELD)
} paganini;

/* Beyond it, what is left unmarked is lost in rounding. */
static const double CERTAIN = 1.0 - 1e-15;

static double price_of(const paganini *p, double signal)
{
    return -log1p(-(signal < CERTAIN ? signal : CERTAIN)) / log(p->phi);
}

static double sending_rate_under(const void *law, const double *x, double signal, double rtt)
{
    const paganini *p = law;
    const double most = p->largest_rate > 0.0 ? p->largest_rate : x[0] / rtt;
    return most * exp(-(p->alpha * price_of(p, signal) / (p->links * rtt)));
}

static void rate(const void *law, const double *x, double window_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, double *dx)
{
    const paganini *p = law;
    (void)window_delayed;
    (void)rtt_delayed;
    dx[0] = 0.0;
    if (p->largest_rate == 0.0) {
        const double wanted = p->k / pow(sending_rate_under(law, x, signal_delayed, rtt), p->fairness);
        dx[0] = p->beta * x[0] / rtt * (wanted - price_of(p, signal_delayed));
    }
}

const pi2_sender_law pi2_sender_paganini = {
    .name = "paganini",
    PI2_CONFIGURED_BY(FIELDS),
    .states = 1,
    .initial = pi2_window_initial,
    .rate = rate,
    .sending_rate = pi2_window_sending_rate,
    .sending_rate_under = sending_rate_under,
    .leave_slow_start = pi2_window_stays,
};
