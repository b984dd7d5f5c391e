/* DCTCP: alpha follows the fraction of marks, and once per round trip with marks the window falls by alpha/2.
 * PI2 paper (CoNEXT'16), equations (9) to (11); RFC 8257, section 3.3. The renewal law is derived in docs/theory_acks.md. */
#include "laws/sender.h"

#include <math.h>

#define FIELDS(F) \
    F(gain)    /* weight of the last round trip in alpha */ \
    F(renewal) /* 1: a reduction is a round trip without growth and without ears; 0: on average, one in each */ \
    F(whole)   /* 1: of the renewal law, in whole segments */

typedef struct {
    FIELDS(PI2_FIELD)
} dctcp;

enum { WINDOW, ALPHA, STEPS = 4 };

/* Of alpha W/2 over sqrt(gain/(2 - gain)), and how far from a step anything is seen of it. */
static const double SPREAD = 0.28, FARTHEST = 50.0, SMALL = 1e-4;

/* The mean of floor(x) where x scatters, by a logistic distribution of that scale. */
static double blurred_floor(double x, double spread)
{
    double total = fmax(x - (STEPS + 0.5), 0.0);
    for (int step = 1; step <= STEPS; step++)
        total += 1.0 / (1.0 + exp(fmin((step - x) / spread, FARTHEST)));
    return total;
}

/* M/(e^M - 1): M times the segments grown until a mark, of M a round trip, comes. */
static double grown(double marks)
{
    const double left = exp(-marks);
    return marks < SMALL ? 1.0 - 0.5 * marks : marks * left / (1.0 - left);
}

static void initial(const void *law, double window, double *x)
{
    (void)law;
    x[WINDOW] = window;
    x[ALPHA] = 1.0;
}

static void rate(const void *law, const double *x, const double *x_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, const signed char *sides, double *dx)
{
    const dctcp *p = law;
    const double marks = x_delayed[0] * signal_delayed; /* expected in a round trip */
    const double reductions = marks < 1.0 ? marks : 1.0;
    const double cut = 0.5 * x[ALPHA] * x[WINDOW];
    const double spread = SPREAD * sqrt(p->gain / (2.0 - p->gain));
    (void)sides;
    (void)rtt_delayed;
    if (p->renewal == 0.0)
        dx[WINDOW] = (1.0 - cut * reductions) / rtt;
    else if (p->whole == 0.0)
        dx[WINDOW] = (1.0 - marks * cut) / ((1.0 + marks) * rtt);
    else
        dx[WINDOW] = (grown(marks) - marks * blurred_floor(cut, spread)) / ((1.0 + marks) * rtt);
    dx[ALPHA] = p->gain * (signal_delayed - x[ALPHA]) / rtt;
}

static void switch_values(const void *law, const double *x, double signal, double rtt, double *values)
{
    const dctcp *p = law;
    (void)rtt;
    values[0] = p->renewal == 0.0 ? x[WINDOW] * signal - 1.0 : 1.0;
}

const pi2_sender_law pi2_sender_dctcp = {
    .name = "dctcp",
    PI2_CONFIGURED_BY(FIELDS),
    .states = 2,
    .switches = 1,
    .initial = initial,
    .rate = rate,
    .sending_rate = pi2_window_sending_rate,
    .leave_slow_start = pi2_window_stays,
    .switch_values = switch_values,
};
