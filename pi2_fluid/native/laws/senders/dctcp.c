/* DCTCP: alpha follows the fraction of marks, and once per round trip with marks the window falls by alpha/2.
 * PI2 paper (CoNEXT'16), equations (9) to (11); RFC 8257, section 3.3. */
#include "laws/sender.h"

#define FIELDS(F) F(gain) /* weight of the last round trip in alpha */

typedef struct {
    FIELDS(PI2_FIELD)
} dctcp;

enum { WINDOW, ALPHA };

static void initial(const void *law, double window, double *x)
{
    (void)law;
    x[WINDOW] = window;
    x[ALPHA] = 1.0;
}

static void rate(const void *law, const double *x, double window_delayed, double signal_delayed, double rtt,
                 double rtt_delayed, double *dx)
{
    const dctcp *p = law;
    const double marks = window_delayed * signal_delayed; /* expected in a round trip */
    const double reductions = marks < 1.0 ? marks : 1.0;
    (void)rtt_delayed;
    dx[WINDOW] = (1.0 - 0.5 * x[ALPHA] * x[WINDOW] * reductions) / rtt;
    dx[ALPHA] = p->gain * (signal_delayed - x[ALPHA]) / rtt;
}

static void switch_values(const void *law, const double *x, double signal, double rtt, double *values)
{
    (void)law;
    (void)rtt;
    values[0] = x[WINDOW] * signal - 1.0;
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
