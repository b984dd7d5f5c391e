/* RED: every packet moves an average of the queue, and a profile turns it into a probability; adaptive RED moves the
 * profile. Floyd and Jacobson (1993); Floyd, Gummadi, Shenker, "Adaptive RED" (2001). */
#include <math.h>

#include "laws/aqms/red.h"

typedef pi2_red red;

enum { AVERAGE, MAX_P };

/* Where in the span from min to max the average is to be, how max_p is moved there, and within which limits. */
static const double BAND[] = {0.4, 0.6}, LARGEST_STEP = 0.01, SHARE = 4.0, SHRINK = 0.9, SMALLEST = 0.01,
                    LARGEST = 0.5;

static int initial(const void *law, double *state)
{
    state[AVERAGE] = 0.0;
    state[MAX_P] = ((const red *)law)->max_p;
    return 2;
}

static double band(const red *p, int end)
{
    return p->min + BAND[end] * (p->max - p->min);
}

/* Change of max_p per adaptation: up above the band, `shrink` times itself below it. */
static double adapt(const red *p, const double *state, double shrink)
{
    const double max_p = state[MAX_P], share = max_p / SHARE;
    if (state[AVERAGE] > band(p, 1))
        return max_p <= LARGEST ? (LARGEST_STEP < share ? LARGEST_STEP : share) : 0.0;
    if (state[AVERAGE] < band(p, 0))
        return max_p >= SMALLEST ? shrink * max_p : 0.0;
    return 0.0;
}

static void update(const void *law, const double *state, const pi2_seen *seen, double dt, double *after)
{
    const red *p = law;
    (void)seen;
    (void)dt;
    after[AVERAGE] = state[AVERAGE];
    after[MAX_P] = p->adaptive != 0.0 ? state[MAX_P] + adapt(p, state, SHRINK - 1.0) : state[MAX_P];
}

/* n packets leave (1 - weight)^n of a difference: an exponential in the number of arrivals. */
static void drift(const void *law, const double *state, const pi2_seen *seen, const signed char *sides,
                  double *slope)
{
    const red *p = law;
    (void)sides;
    slope[AVERAGE] = -log1p(-p->weight) * seen->arrival_rate * (seen->queue - state[AVERAGE]);
    slope[MAX_P] = 0.0;
}

static void flow(const void *law, const double *state, const pi2_seen *seen, double d_queue_delay,
                 const signed char *sides, double *slope)
{
    const red *p = law;
    (void)sides;
    (void)d_queue_delay;
    drift(law, state, seen, sides, slope);
    if (p->adaptive != 0.0)
        slope[MAX_P] = adapt(p, state, log(SHRINK)) / p->update_interval;
}

/* The probability p_b at the average. */
static double controller(const void *law, const double *state)
{
    const red *p = law;
    const double average = state[AVERAGE], max_p = state[MAX_P];
    if (average < p->min)
        return 0.0;
    if (average < p->max)
        return max_p * (average - p->min) / (p->max - p->min);
    return p->gentle != 0.0 && average < 2.0 * p->max ? max_p + (1.0 - max_p) * (average - p->max) / p->max : 1.0;
}

static pi2_signal signals(const void *law, const double *state, const pi2_seen *seen, const signed char *sides)
{
    (void)sides;
    (void)seen;
    return pi2_same_for_all(law, controller(law, state));
}

static int switch_values(const void *law, const double *state, const pi2_seen *seen, double *values)
{
    const red *p = law;
    const double average = state[AVERAGE], max_p = state[MAX_P];
    int n = 0;
    (void)seen;
    values[n++] = average - p->min;
    values[n++] = average - p->max;
    if (p->gentle != 0.0)
        values[n++] = average - 2.0 * p->max;
    if (p->adaptive != 0.0) {
        values[n++] = average - band(p, 0);
        values[n++] = average - band(p, 1);
        values[n++] = max_p - SMALLEST;
        values[n++] = max_p - SHARE * LARGEST_STEP;
        values[n++] = max_p - LARGEST;
    }
    return n;
}

const pi2_aqm_law pi2_aqm_red = {
    .name = "red",
    PI2_CONFIGURED_BY(PI2_RED_FIELDS),
    .bands = 1,
    .initial = initial,
    .update = update,
    .flow = flow,
    .drift = drift,
    .saturate = pi2_unclipped,
    .controller = controller,
    .encode = pi2_same_for_all,
    .signals = signals,
    .switch_values = switch_values,
};
