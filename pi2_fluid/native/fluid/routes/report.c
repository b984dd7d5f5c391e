#include "fluid/routes/report.h"

#include <string.h>

#include "fluid/routes/dual.h"
#include "fluid/routes/entries.h"
#include "fluid/routes/lean.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/rates.h"

static void interpolate(pi2_routes *run, double t, double *y)
{
    const size_t last = run->past.length - 1;
    past_values(past_cubics(&run->past, last), run->stored, t - run->past.start[past_slot(&run->past, last)], y);
}

/* Puts what interpolation has carried past a bound back on it. */
static void keep_within_bounds(const pi2_routes *run, double *y)
{
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        double state[PI2_AQM_STATES];
        for (int k = 0; k < node->bands; k++) {
            double *q = y + run->queues[node->first + k].queue;
            *q = *q < 0.0 ? 0.0 : *q > node->buffer ? node->buffer : *q;
        }
        routes_state(node, y, state);
        node->aqm->saturate(node->law, state);
        for (int j = 0; j < node->moving; j++)
            y[node->controller + j] = state[node->moves[j]];
    }
    for (int i = 0; i < run->class_count; i++)
        y[run->classes[i].x] = y[run->classes[i].x] > 0.0 ? y[run->classes[i].x] : 0.0;
    for (int j = run->integrated; j < run->stored; j++)
        y[j] = y[j] > 0.0 ? y[j] : 0.0;
}

/* The rates of a state of a node alone, which are no part of it, at t in a mode. */
static void find_rates(pi2_routes *run, double t, double *y, routes_mode *mode)
{
    routes_mode *present = run->mode;
    routes_point at = run->scratch;
    at.t = t;
    at.y = y;
    run->mode = mode;
    routes_look(run, &at);
    run->mode = present;
}

/* The rates with which those entered who leave a queue now, in run->then. */
static void find_entered(pi2_routes *run, routes_queue *node, double gone)
{
    const fluid_past *past = &run->past;
    size_t i = node->departures > past->oldest ? node->departures : past->oldest;
    double whole, s;
    while (i + 1 < past->length && past_cubics(past, i + 1)[node->entered] <= gone)
        i++;
    node->departures = i;
    whole = i + 1 < past->length ? past->start[past_slot(past, i + 1)] : run->now->t;
    whole -= past->start[past_slot(past, i)];
    s = routes_reaches(run, past_cubics(past, i), node->entered, gone, whole);
    past_values(past_cubics(past, i), run->stored, s, run->then);
    if (run->alone)
        find_rates(run, past->start[past_slot(past, i)] + s, run->then, past_mode(past, i));
    for (int j = run->integrated; j < run->stored; j++)
        run->then[j] = run->then[j] > 0.0 ? run->then[j] : 0.0;
}

static void report_leaving(pi2_routes *run, int q, const double *y, const routes_link *link, double share, double *leaving)
{
    routes_queue *node = run->queues + q;
    const double *rates = y;
    double total, served = routes_arrivals(run, q, y);
    if (link->bound[node->band] != EMPTY || served > share)
        served = share;
    if (y[node->queue] > 0.0 && run->entered < 0) { /* of one class alone, whenever it was sent */
        leaving[node->visits[0]] = served;
        return;
    }
    if (y[node->queue] > 0.0) {
        find_entered(run, node, y[node->entered] - y[node->queue]);
        rates = run->then;
    }
    total = routes_arrivals(run, q, rates);
    for (int k = 0; k < node->visit_count; k++) {
        const int v = node->visits[k];
        const double rate = rates[run->visits[v].offered];
        leaving[v] = total > 0.0 ? served * rate / total : 0.0;
    }
}

/* What each queue of a node gets while packets wait, and their delays. */
static void find_shares(const pi2_routes *run, int l, const double *y, const routes_mode *mode, double *served,
                        double *tau)
{
    const routes_node *node = run->nodes + l;
    if (node->bands == 2) {
        const routes_shares_of_link shares = routes_share(run, l, y, mode);
        memcpy(served, shares.served, sizeof shares.served);
        memcpy(tau, shares.tau, sizeof shares.tau);
        return;
    }
    served[0] = mode->links[l].capacity;
    tau[0] = y[run->queues[node->first].queue] / served[0];
}

/* Of a sender without window, or whose rate hears signals at once, what it sends in one round-trip time. */
static double window(const pi2_routes *run, double t, const double *y, const routes_mode *mode, int i)
{
    const routes_class *c = run->classes + i;
    const double count = routes_count(run, t, mode, i);
    double rtt = c->base_rtt;
    if (c->listens && !c->answers)
        return y[c->x];
    for (int k = 0; k < c->end - c->from; k++) {
        const routes_queue *queue = run->queues + c->queues[k];
        double served[2], tau[2];
        find_shares(run, queue->node, y, mode, served, tau);
        rtt += tau[queue->band];
    }
    if (count <= 0.0)
        return 0.0;
    return (c->answers ? y[c->sent] / count : routes_rate(c, y + c->x, 0.0, rtt)) * rtt;
}

static inline double within(double value, double most)
{
    return value < 0.0 ? 0.0 : value > most ? most : value;
}

/* In the case of lean.h, of one class alone, samples of the last step up to the first at which no packets wait: what is
 * constant is read once. Returns the first that is not reported. */
static size_t report_one_class(pi2_routes *run, const double *samples, size_t i, size_t n, pi2_routes_rows rows)
{
    const routes_lean *o = &run->lean;
    const size_t last = run->past.length - 1;
    const double *c = past_cubics(&run->past, last), start = run->past.start[past_slot(&run->past, last)];
    const double end = run->now->t - SAME, buffer = run->nodes[0].buffer, limit = run->nodes[0].aqm->plain.limit;
    for (; i < n && samples[i] < end; i++) {
        const double s = samples[i] - start, q = past_value(c, 3, 0, s), w = past_value(c, 3, 2, s);
        const double u = within(past_value(c, 3, 1, s), limit);
        if (!(q > 0.0))
            break;
        rows.queue[i] = within(q, buffer);
        rows.queue_delay[i] = rows.queue[i] * o->inverse_capacity;
        rows.controller[i] = u;
        rows.capacity[i] = rows.leaving[i] = o->capacity;
        rows.p[i] = lean_encode(o, u, o->scalable[0]);
        rows.window[i] = w > 0.0 ? w : 0.0;
    }
    return i;
}

/* A state in the case of lean.h while packets wait: then nothing depends on the rates at which they come. */
static void report_lean(pi2_routes *run, double *y, size_t row, pi2_routes_rows rows)
{
    const routes_lean *o = &run->lean;
    const routes_node *node = run->nodes;
    const size_t classes = (size_t)run->class_count;
    const fluid_share *shares = routes_shares(run, run->mode);
    const double u = y[1] = within(y[1], node->aqm->plain.limit), tau = (y[0] = within(y[0], node->buffer)) * o->inverse_capacity;
    const pi2_signal signals = {lean_encode(o, u, 0), lean_encode(o, u, 1)};
    rows.queue[row] = y[0];
    rows.queue_delay[row] = tau;
    rows.controller[row] = u;
    rows.capacity[row] = o->capacity;
    for (size_t i = 0; i < classes; i++) {
        const routes_class *c = run->classes + i;
        const int sends = !c->listens && shares[i].active && shares[i].count > 0.0;
        const double rtt = c->base_rtt + tau;
        y[c->x] = y[c->x] > 0.0 ? y[c->x] : 0.0;
        rows.p[row * classes + i] = routes_signal_of(c, signals);
        rows.window[row * classes + i] = c->listens ? y[c->x] : sends ? routes_rate(c, y + c->x, 0.0, rtt) * rtt : 0.0;
    }
    report_leaving(run, 0, y, run->mode->links, o->capacity, rows.leaving + row * classes);
}

static void report(pi2_routes *run, double t, int earlier, size_t row, pi2_routes_rows rows)
{
    routes_mode *mode = earlier ? past_mode(&run->past, run->past.length - 1) : run->mode;
    const size_t nodes = (size_t)run->node_count, queues = (size_t)run->queue_count, classes = (size_t)run->class_count, visits = (size_t)run->visit_count;
    double *y = run->scratch.y;
    if (earlier)
        interpolate(run, t, y);
    else
        for (int j = 0; j < run->stored; j++)
            y[j] = run->now->y[j];
    if (run->lean.is_on && mode == run->mode && y[0] > 0.0) {
        report_lean(run, y, row, rows);
        return;
    }
    keep_within_bounds(run, y);
    if (run->alone)
        find_rates(run, t, y, mode);
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        double state[PI2_AQM_STATES], served[2], tau[2];
        routes_state(node, y, state);
        find_shares(run, l, y, mode, served, tau);
        rows.controller[row * nodes + l] = node->aqm->controller(node->law, state);
        rows.capacity[row * nodes + l] = mode->links[l].capacity;
        for (int k = 0; k < node->bands; k++) {
            const int q = node->first + k;
            rows.queue[row * queues + q] = y[run->queues[q].queue];
            rows.queue_delay[row * queues + q] = tau[k];
            report_leaving(run, q, y, mode->links + l, served[k], rows.leaving + row * visits);
        }
    }
    for (int i = 0; i < run->class_count; i++)
        rows.window[row * classes + i] = window(run, t, y, mode, i);
    for (int v = 0; v < run->visit_count; v++) {
        const pi2_signal signals = routes_signals(run, run->visits[v].node, y, mode);
        rows.p[row * visits + v] = routes_signal_of(run->classes + run->visits[v].class_, signals);
    }
}

size_t routes_report(pi2_routes *run, const double *samples, size_t i, size_t n, pi2_routes_rows rows)
{
    if (run->lean.is_on && run->class_count == 1 && run->lean.n == 1 && run->stored == 3 && run->past.length > 1
        && past_mode(&run->past, run->past.length - 1) == run->mode)
        i = report_one_class(run, samples, i, n, rows);
    for (; i < n && samples[i] < run->now->t - SAME; i++)
        report(run, samples[i], 1, i, rows);
    for (; i < n && samples[i] <= run->now->t + SAME; i++)
        report(run, run->now->t, 0, i, rows);
    return i;
}
