/* The tables of laws, and what several laws share. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "laws/aqm.h"
#include "laws/sender.h"

const pi2_sender_law *pi2_find_sender(const char *name)
{
    static const pi2_sender_law *const laws[] = {
#define PI2_SENDER(name) &pi2_sender_##name,
#include "laws.def"
    };
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        if (!strcmp(laws[i]->name, name))
            return laws[i];
    return NULL;
}

const pi2_aqm_law *pi2_find_aqm(const char *name)
{
    static const pi2_aqm_law *const laws[] = {
#define PI2_AQM(name) &pi2_aqm_##name,
#include "laws.def"
    };
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        if (!strcmp(laws[i]->name, name))
            return laws[i];
    return NULL;
}

void pi2_window_initial(const void *law, double window, double *x)
{
    (void)law;
    x[0] = window;
}

double pi2_window_sending_rate(const void *law, const double *x, double rtt)
{
    (void)law;
    return x[0] / rtt;
}

void pi2_window_stays(const void *law, double *x)
{
    (void)law;
    (void)x;
}

int pi2_flows(const pi2_aqm_law *law, int continuous, double update_interval)
{
    return isfinite(update_interval) ? continuous : law->saturate != pi2_unclipped;
}

void pi2_not_updated(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    (void)law;
    (void)seen;
    (void)dt;
    after[0] = state[0];
}

void pi2_unclipped(const void *law, double *state)
{
    (void)law;
    (void)state;
}

void pi2_price_saturate(const void *law, double *state)
{
    (void)law;
    if (state[0] < 0.0)
        state[0] = 0.0;
}

pi2_signal pi2_price_encode(const void *law, double phi, double u)
{
    return pi2_same_for_all(law, -expm1(-u * log(phi)));
}

pi2_signal pi2_same_for_all(const void *law, double u)
{
    const pi2_signal signal = {u, u};
    (void)law;
    return signal;
}

double pi2_first_state(const void *law, const double *state)
{
    (void)law;
    return state[0];
}
