/* What is reported of one instant. */
#include "fluid/report.h"

#include "fluid/lean.h"
#include "fluid/plant.h"

/* Where in segment `i` the arrivals of a band reach `total` (s after it began). */
static double reaches(const pi2_fluid *run, size_t i, int k, double total)
{
    const double *start = run->past.start;
    const double end = i + 1 < run->past.length ? start[past_slot(&run->past, i + 1)] : run->now->t;
    return past_reaches(past_cubics(&run->past, i), run->stored, run->arrived + k, total,
                        end - start[past_slot(&run->past, i)]);
}

/* The rates at which the classes sent s seconds after segment i began, in run->view_then. */
static void find_sent(pi2_fluid *run, size_t i, double s)
{
    const fluid_mode *mode = past_mode(&run->past, i);
    const double t = run->past.start[past_slot(&run->past, i)] + s;
    past_values(past_cubics(&run->past, i), run->stored, s, run->then);
    if (run->bands == 2 || run->thins) {
        fluid_observe(run, t, run->then, mode, &run->view_then);
        return;
    }
    for (int j = 0; j < run->class_count; j++) {
        const fluid_class *c = run->classes + j;
        const double rtt = run->groups[c->group].base_rtt + run->then[0] / mode->capacity;
        double rate = 0.0;
        if (mode->of[j].active)
            rate = c->plain ? run->then[c->x] / rtt
                                        : c->law->sending_rate(c->parameters, run->then + c->x, rtt);
        run->view_then.rates[j] = mode->of[j].ramping ? fluid_count(run, t, mode, j) * rate : mode->of[j].count * rate;
    }
}

/* The same for what leaves band k now: first in, first out. */
static void find_entered(pi2_fluid *run, int k, double served)
{
    const fluid_past *past = &run->past;
    const int place = run->arrived + k;
    size_t i = run->departures[k] > past->oldest ? run->departures[k] : past->oldest;
    while (i + 1 < past->length && past_cubics(past, i + 1)[place] < served)
        i++;
    run->departures[k] = i;
    find_sent(run, i, i ? reaches(run, i, k, served) : -BEGINNING);
}

/* Divides what leaves band k among its classes, in proportion to the rates at which they sent it. */
static void divide(const pi2_fluid *run, int k, double served, const double *rates, double *leaving)
{
    double total = 0.0, part;
    for (int i = 0; i < run->class_count; i++)
        if (run->classes[i].band == k)
            total += rates[i];
    part = total > 0.0 ? served / total : 0.0;
    for (int i = 0; i < run->class_count; i++)
        if (run->classes[i].band == k)
            leaving[i] = part * rates[i];
}

static void find_leaving(pi2_fluid *run, const double *y, const fluid_view *view, double *leaving)
{
    for (int k = 0; k < run->bands; k++) {
        if (y[k] > 0.0 && run->arrived < 0) { /* of one class alone, whenever it was sent */
            for (int i = 0; i < run->class_count; i++)
                if (run->classes[i].band == k)
                    leaving[i] = view->served[k];
        } else if (y[k] > 0.0) {
            find_entered(run, k, y[run->arrived + k] - y[k]);
            divide(run, k, view->served[k], run->view_then.rates, leaving);
        } else
            divide(run, k, view->served[k], view->rates, leaving);
    }
}

/* Of a sender without window, what it sends in one round-trip time, dropped or not. */
static double window(const pi2_fluid *run, double t, const double *y, const fluid_mode *mode, const fluid_view *view,
                     int i)
{
    const fluid_class *c = run->classes + i;
    const double rtt = view->rtt[c->group];
    if (c->listens)
        return y[c->x];
    return fluid_count(run, t, mode, i) > 0.0 ? c->law->sending_rate(c->parameters, y + c->x, rtt) * rtt : 0.0;
}

/* The state at time t of the last step. */
static void interpolate(pi2_fluid *run, double t, double *y)
{
    const size_t last = run->past.length - 1;
    past_values(past_cubics(&run->past, last), run->stored, t - run->past.start[past_slot(&run->past, last)], y);
}

static inline double within(double value, double most)
{
    return value < 0.0 ? 0.0 : value > most ? most : value;
}

/* Puts what interpolation has carried past a bound back on it. */
static void keep_within_bounds(const pi2_fluid *run, double *y)
{
    double state[PI2_AQM_STATES];
    for (int k = 0; k < run->bands; k++)
        y[k] = within(y[k], run->buffer);
    fluid_state(run, y, state);
    run->aqm->saturate(run->law, state);
    for (int j = 0; j < run->moving; j++)
        y[run->controller + j] = state[run->moves[j]];
    for (int i = 0; i < run->class_count; i++)
        y[run->classes[i].x] = y[run->classes[i].x] > 0.0 ? y[run->classes[i].x] : 0.0;
}

static void report(pi2_fluid *run, double t, const double *y, const fluid_mode *mode, size_t row, pi2_fluid_rows rows)
{
    const size_t classes = (size_t)run->class_count, bands = (size_t)run->bands;
    fluid_view *view = &run->scratch.view;
    double state[PI2_AQM_STATES];
    pi2_signal signals;
    fluid_observe(run, t, y, mode, view);
    signals = fluid_signals(run, y, mode, view);
    fluid_state(run, y, state);
    for (size_t k = 0; k < bands; k++) {
        rows.queue[row * bands + k] = y[k];
        rows.queue_delay[row * bands + k] = view->tau[k];
    }
    rows.controller[row] = run->aqm->controller(run->law, state);
    rows.capacity[row] = mode->capacity;
    for (size_t i = 0; i < classes; i++) {
        rows.p[row * classes + i] = fluid_signal_of(run, (int)i, signals);
        rows.window[row * classes + i] = window(run, t, y, mode, view, (int)i);
    }
    find_leaving(run, y, view, rows.leaving + row * classes);
}

/* The same in the case of lean.h, while packets wait: then nothing depends on the rates at which they come. */
static void report_lean(pi2_fluid *run, const double *y, size_t row, pi2_fluid_rows rows)
{
    const fluid_lean *o = &run->lean;
    const size_t classes = (size_t)run->class_count;
    const pi2_signal signals = {lean_encode(o, y[1], 0), lean_encode(o, y[1], 1)};
    const double tau = y[0] * o->inverse_capacity;
    rows.queue[row] = y[0];
    rows.queue_delay[row] = tau;
    rows.controller[row] = y[1];
    rows.capacity[row] = o->capacity;
    if (classes == 1 && o->n == 1) {
        rows.p[row] = o->scalable[0] ? signals.scalable : signals.classic;
        rows.window[row] = y[2];
        rows.leaving[row] = o->capacity;
        return;
    }
    for (size_t i = 0; i < classes; i++) {
        const fluid_class *c = run->classes + i;
        const double rtt = run->groups[c->group].base_rtt + tau;
        const int sends = !c->listens && run->mode->of[i].active && run->mode->of[i].count > 0.0;
        rows.p[row * classes + i] = fluid_signal_of(run, (int)i, signals);
        rows.window[row * classes + i] = c->listens ? y[c->x]
                                         : sends    ? c->law->sending_rate(c->parameters, y + c->x, rtt) * rtt
                                                    : 0.0;
    }
    if (run->arrived >= 0) {
        find_entered(run, 0, y[run->arrived] - y[0]);
        divide(run, 0, o->capacity, run->view_then.rates, rows.leaving + row * classes);
    } else
        rows.leaving[row] = o->capacity;
}

static void keep_within_bounds_lean(const pi2_fluid *run, double *y)
{
    const double limit = run->aqm->plain.limit;
    y[0] = within(y[0], run->buffer);
    y[1] = within(y[1], limit);
    for (int i = 0; i < run->class_count; i++)
        y[run->classes[i].x] = y[run->classes[i].x] > 0.0 ? y[run->classes[i].x] : 0.0;
}

/* Samples of the last step in the case of lean.h, of one class alone, up to the first at which no packets wait: what
 * is constant is read once. Returns the first that is not reported. */
static size_t report_one_class(pi2_fluid *run, const double *samples, size_t i, size_t n, pi2_fluid_rows rows)
{
    const size_t last = run->past.length - 1;
    const double *c = past_cubics(&run->past, last), start = run->past.start[past_slot(&run->past, last)];
    const double end = run->now->t - SAME, buffer = run->buffer, capacity = run->lean.capacity;
    const double limit = run->aqm->plain.limit, per_packet = run->lean.inverse_capacity;
    const int scalable = run->lean.scalable[0];
    for (; i < n && samples[i] < end; i++) {
        const double s = samples[i] - start, q = past_value(c, 3, 0, s), w = past_value(c, 3, 2, s);
        const double u = within(past_value(c, 3, 1, s), limit);
        if (!(q > 0.0))
            break;
        rows.queue[i] = within(q, buffer);
        rows.queue_delay[i] = rows.queue[i] * per_packet;
        rows.controller[i] = u;
        rows.capacity[i] = rows.leaving[i] = capacity;
        rows.p[i] = lean_encode(&run->lean, u, scalable);
        rows.window[i] = w > 0.0 ? w : 0.0;
    }
    return i;
}

size_t fluid_report_step(pi2_fluid *run, const double *samples, size_t i, size_t n, pi2_fluid_rows rows)
{
    if (run->kind == LEAN_KIND && run->class_count == 1 && run->lean.n == 1 && run->stored == 3
        && past_mode(&run->past, run->past.length - 1) == run->mode)
        i = report_one_class(run, samples, i, n, rows);
    for (; i < n && samples[i] < run->now->t - SAME; i++)
        fluid_report(run, samples[i], 1, i, rows);
    return i;
}

void fluid_report(pi2_fluid *run, double t, int earlier, size_t row, pi2_fluid_rows rows)
{
    const fluid_mode *mode = earlier ? past_mode(&run->past, run->past.length - 1) : run->mode;
    double *y = run->scratch.y;
    if (earlier)
        interpolate(run, t, y);
    else
        for (int j = 0; j < run->stored; j++)
            y[j] = run->now->y[j];
    if (run->kind == LEAN_KIND)
        keep_within_bounds_lean(run, y);
    else
        keep_within_bounds(run, y);
    if (run->kind == LEAN_KIND && mode == run->mode && y[0] > 0.0)
        report_lean(run, y, row, rows);
    else
        report(run, t, y, mode, row, rows);
}
