/* TCP Prague: DCTCP by a virtual round-trip time, which is never shorter than target_rtt.
 * draft-briscoe-iccrg-prague-congestion-control; the equations are those of laws/senders/prague.py. */
#include "laws/sender.h"

#define FIELDS(F) \
    F(gain)       /* weight of the last virtual round trip in alpha */ \
    F(target_rtt) /* s that shorter round-trip times count as */

typedef struct {
    FIELDS(PI2_FIELD)
} prague;

enum { WINDOW, ALPHA };
enum { RARE, SHORT };

static double virtual_rtt(const prague *p, double rtt)
{
    return rtt > p->target_rtt ? rtt : p->target_rtt;
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
    const prague *p = law;
    const double virtual = virtual_rtt(p, rtt), part = rtt / virtual;
    const double acks = x_delayed[0] / rtt_delayed, marks = acks * signal_delayed;
    const double expected = marks * virtual_rtt(p, rtt_delayed); /* in a virtual round trip */
    const double reductions = (expected < 1.0 ? expected : 1.0) / virtual;
    (void)sides;
    dx[WINDOW] = part * part * (acks - marks) / x[WINDOW] - 0.5 * x[ALPHA] * x[WINDOW] * reductions;
    dx[ALPHA] = p->gain * (signal_delayed - x[ALPHA]) / virtual;
}

static void switch_values(const void *law, const double *x, double signal, double rtt, double *values)
{
    const prague *p = law;
    values[RARE] = x[WINDOW] * signal / rtt * virtual_rtt(p, rtt) - 1.0;
    values[SHORT] = rtt / p->target_rtt - 1.0;
}

const pi2_sender_law pi2_sender_prague = {
    .name = "prague",
    PI2_CONFIGURED_BY(FIELDS),
    .states = 2,
    .switches = 2,
    .initial = initial,
    .rate = rate,
    .sending_rate = pi2_window_sending_rate,
    .leave_slow_start = pi2_window_stays,
    .switch_values = switch_values,
};
