#include "packet/controllers/red.h"

enum { AVERAGE = PI2_RED_AVERAGE, MAX_P = PI2_RED_MAX_P };

/* Where in the span from min to max the average is to be, how max_p is moved there, and within which limits. */
static const double BAND[] = {0.4, 0.6}, LARGEST_STEP = 0.01, SHARE = 4.0, SHRINK = 0.9, SMALLEST = 0.01,
                    LARGEST = 0.5;

static double band(const pi2_red *p, int end)
{
    return p->min + BAND[end] * (p->max - p->min);
}

/* Change of max_p per adaptation: up above the band, `shrink` times itself below it. */
static double adapt(const pi2_red *p, const double *state, double shrink)
{
    const double max_p = state[MAX_P], share = max_p / SHARE;
    if (state[AVERAGE] > band(p, 1))
        return max_p <= LARGEST ? (LARGEST_STEP < share ? LARGEST_STEP : share) : 0.0;
    if (state[AVERAGE] < band(p, 0))
        return max_p >= SMALLEST ? shrink * max_p : 0.0;
    return 0.0;
}

double pi2_red_adapted(const pi2_red *p, const double *state)
{
    return state[MAX_P] + adapt(p, state, SHRINK - 1.0);
}

double pi2_red_signalled(const pi2_red *p, const double *state)
{
    const double average = state[AVERAGE], max_p = state[MAX_P];
    if (average < p->min)
        return 0.0;
    if (average < p->max)
        return max_p * (average - p->min) / (p->max - p->min);
    return p->gentle != 0.0 && average < 2.0 * p->max ? max_p + (1.0 - max_p) * (average - p->max) / p->max : 1.0;
}
