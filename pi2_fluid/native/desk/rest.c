#include "desk/rest.h"

#include <math.h>
#include <string.h>

#include "desk/zero.h"

/* The smallest controller value searched; at p' = 1e-15 a Reno window is 1e15 segments. */
#define SMALLEST_CONTROLLER 1e-15
/* Windows (segments) between which a law's rest is searched. */
#define SMALLEST_WINDOW 1e-9
#define LARGEST_WINDOW 1e40

typedef struct {
    const pi2_desk_queue *queue;
    int classes;
    const pi2_desk_flows *flows;
    pi2_queue_at_rest *at;
    pi2_flows_at_rest *rests;
} problem;

typedef struct {
    const pi2_desk_flows *flows;
    double p, rtt;
} window_problem;

static double drift(void *of, double log_window)
{
    const window_problem *const w = of;
    const double window = exp(log_window), in[] = {window, window, w->p, w->rtt, w->rtt};
    double change;
    pi2_tape_run(w->flows->rate, in, w->flows->numbers, 0, &change);
    return change * w->rtt;
}

/* The window from below which it grows and from above which it falls. */
static double window_at_rest(const pi2_desk_flows *flows, double p, double rtt)
{
    window_problem w = {flows, p, rtt};
    const double low = log(SMALLEST_WINDOW), high = log(LARGEST_WINDOW);
    double before = NAN, after = NAN;
    const double found =
        pi2_find_zero_from(drift, &w, low, drift(&w, low), high, drift(&w, high), &before, &after);
    return before >= 0.0 && after <= 0.0 ? exp(found) : NAN;
}

void pi2_queue_rests_at(const pi2_desk_queue *queue, double u, pi2_queue_at_rest *at, double *signal)
{
    double found[PI2_SENDER_STATES + 2] = {0.0};
    const double in[] = {u, queue->packets};
    pi2_tape_run(queue->encode, &u, queue->numbers, 0, signal);
    pi2_tape_run(queue->at_rest, in, queue->numbers, 0, found);
    at->u = u;
    at->delay[0] = found[queue->states];
    at->delay[1] = queue->bands == 2 ? found[queue->states + 1] : 0.0;
}

void pi2_flows_rest_at(const pi2_desk_flows *flows, double p, double rtt, pi2_flows_at_rest *rest)
{
    double in[PI2_SENDER_STATES + 2];
    rest->p = p;
    rest->rtt = rtt;
    if (flows->at_rest) {
        const double given[] = {rest->rtt, rest->p};
        pi2_tape_run(flows->at_rest, given, flows->numbers, 0, rest->x);
    } else {
        rest->x[0] = window_at_rest(flows, rest->p, rest->rtt);
    }
    memcpy(in, rest->x, sizeof(double) * (size_t)flows->states);
    in[flows->states] = rest->p;
    in[flows->states + 1] = rest->rtt;
    pi2_tape_run(flows->sending, in, flows->numbers, 0, &rest->rate);
}

static void answer(const pi2_desk_queue *queue, const pi2_desk_flows *flows, const pi2_queue_at_rest *at,
                   const double *signal, pi2_flows_at_rest *rest)
{
    const int l4s = flows->hears == PI2_HEARS_SCALABLE;
    const double p = flows->hears == PI2_HEARS_NOTHING ? 0.0 : signal[l4s];
    pi2_flows_rest_at(flows, p, flows->base_rtt + at->delay[queue->bands == 2 && l4s], rest);
}

/* The logarithm of what the flows send over what the link serves. */
static double excess(void *of, double log_u)
{
    const problem *const p = of;
    double signal[2], total = 0.0;
    pi2_queue_rests_at(p->queue, exp(log_u), p->at, signal);
    for (int c = 0; c < p->classes; c++) {
        answer(p->queue, p->flows + c, p->at, signal, p->rests + c);
        total += p->flows[c].count * p->rests[c].rate;
    }
    return log(total) - log(p->queue->packets * p->queue->load);
}

int pi2_find_rest(const pi2_desk_queue *queue, int classes, const pi2_desk_flows *flows, pi2_queue_at_rest *at,
                  pi2_flows_at_rest *rests)
{
    problem p = {queue, classes, flows, at, rests};
    const double low = log(SMALLEST_CONTROLLER), high = log(queue->highest);
    const double at_low = excess(&p, low), at_high = excess(&p, high);
    if (!(at_low > 0.0) || !(at_high <= 0.0) || isinf(at_low))
        return 0;
    const double found = pi2_find_zero_from(excess, &p, low, at_low, high, at_high, 0, 0);
    return isfinite(found) && isfinite(excess(&p, found));
}
