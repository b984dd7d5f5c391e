/* Beginning, going on and ending. */
#include "fluid/routes/routes.h"

#include <stdlib.h>
#include <string.h>

#include "fluid/routes/arrival.h"
#include "fluid/routes/dual.h"
#include "fluid/routes/layout.h"
#include "fluid/routes/lean.h"
#include "fluid/routes/modes.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/readers.h"
#include "fluid/routes/report.h"
#include "fluid/routes/run.h"
#include "fluid/routes/schedule.h"
#include "fluid/routes/sides.h"
#include "fluid/routes/slopes.h"
#include "fluid/routes/steps.h"
#include "fluid/routes/trial.h"
#include "fluid/step.h"

/* The longest that anything waits and travels: how far back readers may look. */
static void find_lookback(pi2_routes *run, const pi2_routes_problem *problem)
{
    static const int both[2] = {1, 1};
    static const double none[2] = {0.0, 0.0};
    double steady = 0.0, waits = 0.0;
    run->least_capacity = INFINITY;
    for (int l = 0; l < run->node_count; l++) {
        double least = problem->nodes[l].capacity;
        for (int i = 0; i < problem->change_count; i++)
            if (problem->changes[i].node == l && problem->changes[i].capacity < least)
                least = problem->changes[i].capacity;
        if (run->nodes[l].bands == 2) { /* the smaller share */
            double served[2];
            run->nodes[l].aqm->serve(run->nodes[l].law, both, none, 1.0, served);
            least *= served[0] < served[1] ? served[0] : served[1];
        }
        waits += problem->nodes[l].buffer / least;
        run->least_capacity = least < run->least_capacity ? least : run->least_capacity;
    }
    for (int i = 0; i < run->class_count; i++) {
        const routes_class *c = run->classes + i;
        if (c->base_rtt > run->longest_path)
            run->longest_path = c->base_rtt;
        if (!c->listens)
            steady += c->most * c->law->sending_rate(c->parameters, problem->classes[i].flows.x, 1.0);
    }
    run->flooded = steady > run->least_capacity;
    run->lookback = 1.1 * (run->longest_path + waits);
}

static void set_parameters(pi2_routes *run, const pi2_routes_problem *problem)
{
    run->sum = problem->sum;
    run->readable = 1;
    run->step = problem->step;
    run->tolerance = problem->tolerance;
    run->per_tolerance = 1.0 / (24.0 * step_allowance(problem->tolerance));
    run->close = 1e-3 * problem->tolerance > SAME ? 1e-3 * problem->tolerance : SAME;
    run->most_steps = problem->most_steps;
    run->end = problem->duration;
    run->proposal = run->step;
}

/* Returns 0 when there is no memory. */
static int copy_pushes(pi2_routes *run, const pi2_routes_problem *problem)
{
    for (int l = 0; l < run->node_count; l++) {
        const size_t count = problem->nodes[l].push_count;
        routes_node *node = run->nodes + l;
        node->pushes = malloc((count + 1) * sizeof *node->pushes);
        if (!node->pushes)
            return 0;
        if (count)
            memcpy(node->pushes, problem->nodes[l].pushes, count * sizeof *node->pushes);
        node->push_count = count;
    }
    return 1;
}

static void set_node(pi2_routes *run, const pi2_routes_problem *problem, int l)
{
    const pi2_routes_node *from = problem->nodes + l;
    routes_node *node = run->nodes + l;
    double *y = run->now->y;
    if (problem->began)
        memcpy(node->state, from->state, sizeof node->state);
    for (int j = 0; j < node->moving; j++) {
        y[node->controller + j] = node->state[node->moves[j]];
        run->weights[node->controller + j] = CONTROLLER_WEIGHT;
    }
    routes_set_capacity(run->mode->links + l, from->capacity);
    for (int k = 0; k < node->bands; k++) {
        const routes_queue *queue = run->queues + node->first + k;
        if (problem->began)
            y[queue->queue] = from->queues[k];
        /* what one of two queues gets depends on whether packets wait in the other */
        run->mode->links[l].bound[k] = node->bands == 2 && y[queue->queue] > 0.0 ? FREE : EMPTY;
        run->weights[queue->queue] = QUEUE_WEIGHT * from->capacity;
        for (int n = 0; n < queue->visit_count; n++)
            run->weights[queue->offered[n]] = from->capacity;
    }
}

static void set_class(pi2_routes *run, const pi2_routes_problem *problem, int i)
{
    const pi2_fluid_class *from = &problem->classes[i].flows;
    const routes_class *c = run->classes + i;
    fluid_share *share = routes_shares(run, run->mode) + i;
    memcpy(run->now->y + c->x, from->x, (size_t)c->states * sizeof(double));
    for (int j = 0; j < c->states; j++)
        run->weights[c->x + j] = SENDER_WEIGHT;
    run->weights[c->sent] = problem->nodes[run->visits[c->from].node].capacity;
    for (int v = c->from; v + 1 < c->end; v++)
        run->weights[run->visits[v].left] = problem->nodes[run->visits[v + 1].node].capacity;
    share->count = from->count;
    share->started = share->active = problem->began && from->start == 0.0;
    share->slow = from->slow_start && !share->active;
}

/* The state before time 0. */
static void set_state(pi2_routes *run, const pi2_routes_problem *problem)
{
    run->mode = past_latest_mode(&run->past);
    run->mode->signalling = problem->began;
    for (int j = 0; j < run->size; j++)
        run->weights[j] = -1.0;
    for (int l = 0; l < run->node_count; l++)
        set_node(run, problem, l);
    for (int i = 0; i < run->class_count; i++)
        set_class(run, problem, i);
}

/* What a class hears where nothing changes. */
static double signals_at_rest(const pi2_routes *run, int i)
{
    const routes_class *c = run->classes + i;
    double together = 0.0;
    for (int v = c->from; v < c->end; v++) {
        const pi2_signal signals = routes_signals(run, run->visits[v].node, run->now->y, run->mode);
        together = routes_combine(run, together, routes_signal_of(c, signals));
    }
    return together;
}

/* What enters and leaves each node, given what does so before it. Returns by what part it has changed, at most. */
static double pass_on(pi2_routes *run)
{
    double *y = run->now->y, most = 0.0;
    for (int n = 0; n < run->visit_count; n++) {
        const routes_visit *v = run->visits + n;
        const routes_node *node = run->nodes + v->node;
        const routes_queue *queue = run->queues + v->queue;
        const double kept = run->classes[v->class_].thinned ? routes_kept(node, y) : 1.0;
        double total, left;
        y[v->offered] = kept * y[v->from];
        if (v->left < 0)
            continue;
        total = routes_arrivals(run, v->queue, y);
        left = y[queue->queue] > 0.0 && total > 0.0 ? run->now->served[v->queue] * y[v->offered] / total
                                                     : y[v->offered];
        if (fabs(left - y[v->left]) > most * left)
            most = fabs(left - y[v->left]) / left;
        y[v->left] = left;
    }
    return most;
}

/* What enters and leaves each node where nothing changes, also in rings. */
static void flow_at_rest(pi2_routes *run)
{
    static const int ROUNDS = 1000;
    static const double SAME_RATE = 1e-14;
    for (int round = 0; round < ROUNDS; round++) {
        if (!round || run->dual) {
            routes_delays(run, run->now);
            for (int i = 0; i < run->class_count; i++)
                run->heard[i] = run->classes[i].answers ? signals_at_rest(run, i) : 0.0;
            routes_send(run, run->now, run->heard, 1);
        }
        if (!(pass_on(run) > SAME_RATE) && (round || !run->dual))
            break;
    }
}

/* Which bounds held the queues of a node before time 0, and how fast packets entered. */
static void rest_at(pi2_routes *run, int l)
{
    const routes_node *node = run->nodes + l;
    routes_link *link = run->mode->links + l;
    const double *y = run->now->y;
    double *f = run->now->f;
    if (node->bands == 1) {
        const routes_queue *queue = run->queues + node->first;
        const double arrivals = routes_arrivals(run, node->first, y), q = y[queue->queue];
        link->bound[0] = q >= node->buffer && arrivals >= link->capacity ? FULL
                         : q > 0.0 || arrivals > link->capacity          ? FREE
                                                                         : EMPTY;
        if (run->entered >= 0)
            f[queue->entered] = link->bound[0] == EMPTY ? arrivals : link->capacity;
    } else {
        const routes_shares_of_link shares = routes_share(run, l, y, run->mode);
        double q = 0.0;
        for (int k = 0; k < 2; k++) {
            const routes_queue *queue = run->queues + node->first + k;
            q += y[queue->queue];
            f[queue->entered] = shares.served[k];
        }
        if (q >= node->buffer && routes_growth(run, l, shares.net) >= 0.0)
            routes_set_bounds(run, l, FREE, FULL);
    }
}

/* The time before 0, in which all has always been as it is: what waits has entered evenly. */
static void rest(pi2_routes *run)
{
    double *y = run->now->y, *f = run->now->f, *y0 = run->trial->y;
    flow_at_rest(run);
    memcpy(y0, y, (size_t)run->stored * sizeof *y0);
    for (int l = 0; l < run->node_count; l++)
        rest_at(run, l);
    for (const routes_queue *q = run->queues; q < run->queues + run->queue_count && run->entered >= 0; q++)
        y0[q->entered] = -run->lookback * f[q->entered];
    past_append(&run->past, BEGINNING, -run->lookback, y0, run->trial->f, y0, run->trial->f);
    past_append(&run->past, -run->lookback, 0.0, y0, f, y, f);
}

/* What happens at time 0. */
static void start(pi2_routes *run, const pi2_routes_problem *problem)
{
    run->by_numbers = 1;
    for (int r = 0; r < run->reader_count; r++)
        if (!reader_mark(&run->readers[r].reader, &run->past, BEGINNING, 0, 0.0))
            run->status = PI2_FLUID_NO_MEMORY;
    if (problem->began)
        rest(run);
    else
        past_append(&run->past, BEGINNING, 0.0, run->now->y, run->now->f, run->now->y, run->now->f);
    routes_change_mode(run)->signalling = 1.0;
    if (run->status)
        return;
    routes_foresee(run);
    routes_schedule(run, problem);
    routes_look_ahead(run);
    routes_stretches(run);
    routes_choose(run);
    routes_mark_all(run);
    routes_happen(run, 0);
    routes_hold_bounds(run);
    if (run->status)
        return;
    routes_choose(run);
    routes_seek(run, run->now);
    routes_stretches(run);
    routes_take_sides(run);
    routes_take_rate_sides(run);
    run->by_numbers = 0;
    routes_lean_choose(run);
    routes_all_slopes(run, run->now);
    routes_foresee(run);
}

pi2_routes *pi2_routes_create(const pi2_routes_problem *problem)
{
    pi2_routes *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    set_parameters(run, problem);
    if (!routes_lay_out(run, problem) || !copy_pushes(run, problem)) {
        pi2_routes_destroy(run);
        return NULL;
    }
    find_lookback(run, problem);
    set_state(run, problem);
    start(run, problem);
    return run;
}

void pi2_routes_destroy(pi2_routes *run)
{
    if (!run)
        return;
    for (int r = 0; r < run->reader_count; r++)
        free(run->readers[r].reader.marks);
    for (int l = 0; run->nodes && l < run->node_count; l++)
        free(run->nodes[l].pushes);
    past_destroy(&run->past);
    free(run->parts);
    free(run->memory);
    free(run);
}

int pi2_routes_advance(pi2_routes *run, const double *samples, size_t n, size_t *place, pi2_routes_rows rows,
                       long long most_steps)
{
    size_t i = *place;
    while (!run->status) {
        *place = i = routes_report(run, samples, i, n, rows);
        if (i == n)
            return PI2_FLUID_DONE;
        if (most_steps-- <= 0)
            return PI2_FLUID_MORE;
        routes_step(run);
    }
    *place = i;
    return run->status;
}

double pi2_routes_time(const pi2_routes *run)
{
    return run->now->t;
}

long long pi2_routes_steps(const pi2_routes *run)
{
    return run->taken;
}
