#include "fluid/routes/lean.h"

#include "fluid/routes/images.h"
#include "fluid/routes/plant.h"
#include "fluid/routes/readers.h"
#include "fluid/routes/schedule.h"
#include "fluid/routes/slopes.h"
#include "fluid/step.h"

/* Whether class i can be part of it: constant rate, or a law that it knows, not in slow start. */
static int knows(const pi2_routes *run, int i)
{
    const fluid_share *share = routes_shares(run, run->mode) + i;
    const routes_class *c = run->classes + i;
    return !share->active
           || (!share->ramping && !share->slow && !run->floored[i] && !c->thinned && (!c->listens || c->plain));
}

static int fits(const pi2_routes *run)
{
    if (!run->alone || run->nodes[0].aqm->plain.encoder == PI2_OTHER_ENCODER || run->nodes[0].moving != 1)
        return 0;
    for (int i = 0; i < run->class_count; i++)
        if (!knows(run, i))
            return 0;
    return 1;
}

static int hears(const pi2_routes *run, int i)
{
    return run->classes[i].listens && routes_shares(run, run->mode)[i].active;
}

static void add_class(pi2_routes *run, routes_lean *o, int i)
{
    const routes_class *c = run->classes + i;
    const int j = o->n++;
    o->at[j] = c->x;
    o->of[j] = o->groups - 1;
    o->class_[j] = i;
    o->count[j] = routes_shares(run, run->mode)[i].count;
    o->decrease[j] = c->law->plain.decrease;
    o->per_mark[j] = c->law->plain.per_mark;
    o->scalable[j] = c->signal == PI2_FLUID_SCALABLE;
}

/* Those who read by one reader. */
static void add_group(pi2_routes *run, routes_lean *o, int reader)
{
    routes_lean_group *group = o->group + o->groups++;
    group->reader = run->readers + reader;
    group->base_rtt = group->reader->delay;
    group->from = o->n;
    for (int i = 0; i < run->class_count; i++)
        if (run->classes[i].reader == reader && hears(run, i))
            add_class(run, o, i);
    group->end = o->n;
}

/* A class that hears nothing: it stays as it is, and its arrivals are constant. */
static void add_other(pi2_routes *run, routes_lean *o, int i)
{
    const routes_class *c = run->classes + i;
    const fluid_share *share = routes_shares(run, run->mode) + i;
    for (int j = c->x; j < c->x + c->states; j++) {
        run->trial->y[j] = run->now->y[j];
        run->trial->f[j] = run->now->f[j] = run->scratch.f[j] = 0.0; /* the three take turns */
    }
    if (share->active)
        o->others += share->count * c->law->sending_rate(c->parameters, run->now->y + c->x, 0.0);
}

static void prepare(pi2_routes *run)
{
    routes_lean *o = &run->lean;
    const routes_node *node = run->nodes;
    const pi2_plain_controller *pi = &node->aqm->plain;
    const int moves = node->continuous && node->held[0] == 0.0;
    o->encoder = pi->encoder;
    o->k = pi->k;
    o->continuous = node->continuous;
    o->bound = run->mode->links[0].bound[0];
    o->capacity = run->mode->links[0].capacity;
    o->inverse_capacity = 1.0 / o->capacity;
    o->integral = moves ? pi->alpha / pi->update_interval : 0.0;
    o->proportional = moves ? (pi->beta + pi->alpha / 2) * o->inverse_capacity : 0.0;
    o->target = pi->target;
    o->others = 0.0;
    o->n = o->groups = 0;
    run->now->served[0] = run->trial->served[0] = o->capacity;
    for (int r = run->entry_end; r < run->reader_count; r++)
        if (run->readers[r].used)
            add_group(run, o, r);
    for (int i = 0; i < run->class_count; i++)
        if (!hears(run, i))
            add_other(run, o, i);
    o->others -= o->capacity;
    routes_lean_look_back(run);
}

void routes_lean_choose(pi2_routes *run)
{
    run->lean.is_on = fits(run);
    if (run->lean.is_on)
        prepare(run);
}

void routes_lean_look_back(pi2_routes *run)
{
    routes_lean *o = &run->lean;
    for (int g = 0; g < o->groups; g++) {
        const size_t first = o->group[g].reader->reader.first;
        const routes_mode *then = first < run->past.length ? past_mode(&run->past, first) : run->mode;
        const signed char *sides = run->nodes[0].aqm->comparisons ? routes_sides(run, then, 0) : NULL;
        const double capacity = then->links[0].capacity;
        o->group[g].base_packets = o->group[g].base_rtt * capacity;
        o->group[g].within = sides ? sides[0] : 1;
        for (int j = o->group[g].from; j < o->group[g].end; j++)
            o->gain[j] = then->signalling != 0.0 && routes_shares(run, then)[o->class_[j]].active ? capacity : 0.0;
    }
}

/* What others need of a point, and the slopes that do not depend on the past. */
LEAN void show(const pi2_routes *run, const routes_lean *o, lean_stage v, const int n, const int groups,
               const double *rtt, routes_point *at)
{
    at->tau[0] = v.tau;
    at->d_tau[0] = v.growth * o->inverse_capacity;
    at->net[0] = v.net;
    for (int j = 0; j < n; j++)
        at->rtt[o->class_[j]] = rtt[groups == 1 ? 0 : o->of[j]];
    at->f[0] = v.growth;
    at->f[1] = v.slope;
    if (run->entered >= 0)
        at->f[run->entered] = (o->bound == EMPTY ? v.net : v.growth) + o->capacity;
}

/* `m`: run->stored, constant where it is known. */
LEAN void slopes(pi2_routes *run, routes_point *at, const int n, const int groups, const int m, lean_buffers b)
{
    const routes_lean *o = &run->lean;
    lean_stage v;
    for (int j = 0; j < n; j++)
        b.w[j] = at->y[o->at[j]];
    v = lean_look(o, n, groups, at->y[0], b.w, b.rtt, b.inverse, b.share);
    lean_signals(run, o, n, groups, m, at->t, b.rtt, b.signals);
    show(run, o, v, n, groups, b.rtt, at);
    for (int j = 0; j < n; j++)
        at->f[o->at[j]] = b.inverse[groups == 1 ? 0 : o->of[j]]
                          - (o->decrease[j] * b.w[j] + o->per_mark[j]) * b.signals[j];
}

/* One stage at t, of slopes k (q, u, windows); then q and b.w are where it leads to within h from `from`. */
LEAN void stage(pi2_routes *run, const int n, const int groups, const int m, double t, double h, const double *from,
                double *q, double *k, double *sum, lean_buffers b)
{
    const routes_lean *o = &run->lean;
    const lean_stage v = lean_look(o, n, groups, *q, b.w, b.rtt, b.inverse, b.share);
    *q = from[0] + h * v.growth;
    if (n == 1 && !SELDOM(o->bound != FREE))
        *q = (from[0] + h * o->others) + h * o->count[0] * b.inverse[0] * b.w[0];
    k[0] = v.growth;
    k[1] = v.slope;
    *sum = v.net;
    if (n == 1) {
        const double lost = (o->decrease[0] * b.w[0] + o->per_mark[0]) * o->gain[0];
        const lean_past then = lean_go_back(run, o->group, t, b.rtt[0]);
        const double p = lean_heard(o, o->group, lean_u(o, then, m), o->scalable[0]), back = lean_back(o->group, then, m);
        const double w = past_value(then.c, m, m == 3 ? 2 : o->at[0], then.s);
        k[2] = b.inverse[0] - lost * w * p / back;
        b.w[0] = (from[2] + h * b.inverse[0]) - h * lost * w * p / back;
        return;
    }
    lean_signals(run, o, n, groups, m, t, b.rtt, b.signals);
    for (int j = 0; j < n; j++) {
        const double lost = o->decrease[j] * b.w[j] + o->per_mark[j], inverse = b.inverse[groups == 1 ? 0 : o->of[j]];
        k[2 + j] = inverse - lost * b.signals[j];
        b.w[j] = (from[2 + j] + h * inverse) - h * lost * b.signals[j];
    }
}

/* The division first: the slopes come last. */
LEAN double relative(double difference, double y, double weight)
{
    return fabs(difference) * (1.0 / (fabs(y) + weight));
}

LEAN void try_step(pi2_routes *run, double h, double end, const int n, const int groups, const int m,
                   lean_buffers b)
{
    const routes_lean *o = &run->lean;
    const double t = run->now->t, *y = run->now->y, *f = run->now->f;
    double *new = run->trial->y, q, nets[3], worst, part;
    lean_stage v;
    b.k1[0] = f[0];
    b.k1[1] = f[1];
    b.from[0] = y[0] - STEP_THIRD * h * f[0];
    q = step_stage_2(h, y[0], f[0]);
    for (int j = 0; j < n; j++) {
        const double from = y[o->at[j]], slope = b.k1[2 + j] = f[o->at[j]];
        b.from[2 + j] = from - STEP_THIRD * h * slope;
        b.w[j] = step_stage_2(h, from, slope);
    }
    stage(run, n, groups, m, t + STEP_THIRD * h, h, b.from, &q, b.k2, nets, b);
    b.from[0] = y[0] + h * (b.k1[0] - b.k2[0]);
    for (int j = 0; j < n; j++)
        b.from[2 + j] = y[o->at[j]] + h * (b.k1[2 + j] - b.k2[2 + j]);
    stage(run, n, groups, m, t + 2.0 * STEP_THIRD * h, h, b.from, &q, b.k3, nets + 1, b);
    stage(run, n, groups, m, end, h, b.from, &q, b.k4, nets + 2, b);
    new[0] = step_result(h, y[0], b.k1[0], b.k2[0], b.k3[0], b.k4[0]);
    new[1] = o->continuous ? step_result(h, y[1], b.k1[1], b.k2[1], b.k3[1], b.k4[1]) : y[1];
    for (int j = 0; j < n; j++)
        new[o->at[j]] = b.w[j] = step_result(h, y[o->at[j]], b.k1[2 + j], b.k2[2 + j], b.k3[2 + j], b.k4[2 + j]);
    if (run->entered >= 0)
        new[run->entered] = y[run->entered]
                            + (o->bound == EMPTY
                                   ? step_result(h, 0.0, f[run->entered] - o->capacity, nets[0], nets[1], nets[2])
                                   : new[0] - y[0])
                            + h * o->capacity;
    v = lean_look(o, n, groups, new[0], b.w, b.rtt, b.inverse, b.share);
    run->trial->t = end;
    show(run, o, v, n, groups, b.rtt, run->trial);
    lean_signals(run, o, n, groups, m, end, b.rtt, b.signals);
    worst = relative(step_off(b.k1[0], b.k2[0], b.k3[0], b.k4[0], v.growth), new[0], QUEUE_WEIGHT * o->capacity);
    if (o->continuous) {
        part = relative(step_off(b.k1[1], b.k2[1], b.k3[1], b.k4[1], v.slope), new[1], CONTROLLER_WEIGHT);
        worst = part > worst ? part : worst;
    }
    for (int j = 0; j < n; j++) {
        const double slope = b.inverse[groups == 1 ? 0 : o->of[j]]
                             - (o->decrease[j] * b.w[j] + o->per_mark[j]) * b.signals[j];
        run->trial->f[o->at[j]] = slope;
        part = relative(step_off(b.k1[2 + j], b.k2[2 + j], b.k3[2 + j], b.k4[2 + j], slope), b.w[j], SENDER_WEIGHT);
        worst = part > worst ? part : worst;
    }
    run->error = h * run->per_tolerance * worst;
}

/* Buffers in registers for one class; in memory for any number. */
typedef struct {
    double from[3], k1[3], k2[3], k3[3], k4[3], w[1], share[1], signals[1], rtt[1], inverse[1];
} lean_registers;

#define IN_REGISTERS(r) \
    {(r).from, (r).k1, (r).k2, (r).k3, (r).k4, (r).w, (r).share, (r).signals, (r).rtt, (r).inverse}

static void lean_slopes(pi2_routes *run, routes_point *at)
{
    const routes_lean *o = &run->lean;
    lean_registers r;
    const lean_buffers one = IN_REGISTERS(r);
    if (o->n == 1 && run->stored == 3)
        slopes(run, at, 1, 1, 3, one);
    else if (o->n == 1)
        slopes(run, at, 1, 1, run->stored, one);
    else if (o->groups == 1)
        slopes(run, at, o->n, 1, run->stored, o->buffers);
    else
        slopes(run, at, o->n, o->groups, run->stored, o->buffers);
}

void routes_all_slopes(pi2_routes *run, routes_point *at)
{
    if (run->lean.is_on)
        lean_slopes(run, at);
    else
        routes_slopes(run, at, WITH_THEIR_SLOPES);
}

void routes_lean_try(pi2_routes *run, double h, double end)
{
    const routes_lean *o = &run->lean;
    lean_registers r;
    const lean_buffers one = IN_REGISTERS(r);
    if (o->n == 1 && run->stored == 3)
        try_step(run, h, end, 1, 1, 3, one);
    else if (o->n == 1)
        try_step(run, h, end, 1, 1, run->stored, one);
    else if (o->groups == 1)
        try_step(run, h, end, o->n, 1, run->stored, o->buffers);
    else
        try_step(run, h, end, o->n, o->groups, run->stored, o->buffers);
}

static void tick(pi2_routes *run)
{
    const routes_lean *o = &run->lean;
    routes_node *node = run->nodes;
    const pi2_plain_controller *pi = &node->aqm->plain;
    double *y = run->now->y;
    const double delay = run->now->tau[0], old = y[1];
    const double new = fluid_pi_clip(pi, old + routes_push(node) + fluid_pi_step(pi, delay, node->state[1]));
    const double classic = lean_encode(o, new, 0) - lean_encode(o, old, 0);
    const double scalable = lean_encode(o, new, 1) - lean_encode(o, old, 1);
    y[1] = node->state[0] = new;
    node->state[1] = delay;
    node->tick++;
    for (int g = 0; g < o->groups; g++) {
        const double rtt = o->group[g].base_rtt + delay, h = run->step < rtt ? run->step : rtt;
        for (int j = o->group[g].from; j < o->group[g].end; j++) {
            const double w = y[o->at[j]], lost = o->decrease[j] * w + o->per_mark[j];
            if (routes_matters(run, lost * (w / rtt) * (o->scalable[j] ? scalable : classic), h, w)) {
                routes_mark(run, o->group[g].reader, 0);
                break;
            }
        }
    }
}

/* Notes the kink that passing a jump leaves in the windows of a group, if it is not negligible; run->scratch has the
 * slopes before. */
static void mark_kink(pi2_routes *run, const routes_lean_group *group)
{
    const double rtt = group->base_rtt + run->now->tau[0], h = run->step < rtt ? run->step : rtt;
    for (int k = group->from; k < group->end; k++) {
        const int j = run->lean.at[k];
        if (routes_matters(run, run->scratch.f[j] - run->now->f[j], h * h / rtt, run->now->y[j])) {
            routes_mark(run, group->reader, 1);
            return;
        }
    }
}

/* What images do. */
static void pass_images(pi2_routes *run)
{
    const int jumps = routes_find_passed(run);
    double *before = run->now->f;
    routes_move_on(run);
    routes_lean_look_back(run);
    if (run->tolerance == 0.0)
        routes_mark_images(run, jumps);
    run->now->f = run->scratch.f;
    run->scratch.f = before;
    lean_slopes(run, run->now);
    for (int g = 0; g < run->lean.groups && jumps && run->tolerance > 0.0; g++)
        if (run->lean.group[g].reader->order == 0)
            mark_kink(run, run->lean.group + g);
}

/* Whether, after a tick, the bound of the queue and the answer of its comparison still hold. */
static int bounds_hold(const pi2_routes *run)
{
    const routes_node *node = run->nodes;
    const double q = run->now->y[0], net = run->now->net[0];
    const int bound = q <= 0.0 && net <= 0.0 ? EMPTY : q >= node->buffer && net >= 0.0 ? FULL : FREE;
    const signed char *sides = node->aqm->comparisons ? routes_sides(run, run->mode, 0) : NULL;
    return bound == run->mode->links[0].bound[0]
           && (!node->aqm->comparisons || (sides && sides[0] == fluid_is_within(run->lean.k, run->now->y[1])));
}

int routes_lean_arrive(pi2_routes *run, int images)
{
    if (routes_changes_now(run))
        return 0;
    routes_make_readable(run, 0); /* nothing is known of the step to come */
    if (images)
        pass_images(run);
    if (routes_ticks_now(run, run->nodes)) {
        tick(run);
        routes_look_ahead(run);
        return bounds_hold(run) ? 1 : -1;
    }
    if (run->now->t + SAME >= run->next)
        routes_look_ahead(run);
    return 1;
}
