#include "fluid/routes/slopes.h"

#include "fluid/routes/dual.h"
#include "fluid/routes/entries.h"
#include "fluid/routes/plant.h"

static const double DOUBLING = 0.69314718055994530942; /* slow start doubles the window in one round trip */
/* of a round-trip time: over which the slope of a law's sending rate is taken */
#define NUDGE 1e-6
/* Of what links divide among themselves at one instant: a route has fewer, but a ring without hops comes nearer by each. */
enum { MOST_ROUNDS = 60 };

/* Goes to where a reader reads at t. */
static inline void go_to(pi2_routes *run, routes_reader *r, double t)
{
    fluid_reader *reader = &r->reader;
    r->d = t;
    if (!(t >= reader->from && t < reader->to)) {
        t = reader_find(reader, &run->past, t);
        r->mode = past_mode(&run->past, reader->cursor);
    }
    r->s = t - reader->from;
    if (reader->cursor == run->past.length)
        routes_overlap(run, r);
}

/* Goes to where it looks back from `at`. */
static inline void go_back(pi2_routes *run, routes_reader *r, const routes_point *at)
{
    double t = at->t - r->delay;
    for (int k = 0; k < r->queue_count; k++)
        t -= at->tau[r->queues[k]];
    go_to(run, r, t);
}

/* How fast the instant moves that a reader looks back at. */
static double speed(const routes_reader *r, const routes_point *at)
{
    double found = 1.0;
    for (int k = 0; k < r->queue_count; k++)
        found -= at->d_tau[r->queues[k]];
    return found;
}

/* The probability of a signal that a class hears from a node, where its reader looks or `later` (s) if all goes on by the
 * slopes there: a segment may be shorter than that, and beyond its ends a cubic says nothing. */
static double signal_then(const pi2_routes *run, const routes_class *c, const routes_visit *visit, double later)
{
    const routes_node *node = run->nodes + visit->node;
    const routes_reader *r = run->readers + visit->signals;
    double state[PI2_AQM_STATES];
    if (node->aqm->queue_signals) {
        past_values(r->reader.cubics, run->stored, r->s, run->then);
        if (later != 0.0)
            for (int j = 0; j < run->stored; j++)
                run->then[j] += later * routes_slope_then(run, r, j);
        return routes_signal_of(c, routes_signals(run, visit->node, run->then, r->mode));
    }
    for (int j = 0; j < node->states; j++)
        state[j] = node->state[j];
    for (int j = 0; j < node->moving; j++)
        state[node->moves[j]] = routes_then(run, r, node->controller + j)
                                + later * routes_slope_then(run, r, node->controller + j);
    return routes_signal_of(c, routes_shown(node, state, NULL, routes_sides(run, r->mode, visit->node)));
}

/* The same of a node whose signals follow from its controller in a known way. */
static inline double encoded(const pi2_routes *run, const routes_visit *v, const routes_reader *r)
{
    const double u = routes_then(run, r, v->controller);
    const signed char *sides = v->encoder == PI2_COUPLED ? routes_sides(run, r->mode, v->node) : NULL;
    return fluid_encode_on(sides ? sides[0] : fluid_is_within(v->coupling, u), v->encoder, v->coupling, u, v->scalable);
}

/* The probability of a signal, of all nodes of its route, that a class hears: now, or later by `after` (s) if all goes on
 * by the slopes at a point. */
static inline double hear(const pi2_routes *run, int i, double after, const routes_point *at)
{
    const routes_class *c = run->classes + i;
    double together = 0.0;
    if (!routes_shares(run, run->readers[c->reader].mode)[i].active)
        return 0.0;
    for (const routes_visit *v = run->visits + c->from; v < run->visits + c->end; v++) {
        const routes_reader *r = run->readers + v->signals;
        double p;
        if (r->mode->signalling == 0.0)
            continue;
        if (after == 0.0 && v->encoder != PI2_OTHER_ENCODER)
            p = encoded(run, v, r);
        else
            p = signal_then(run, c, v, after != 0.0 ? after * speed(r, at) : 0.0);
        together = routes_combine(run, together, p);
    }
    return together;
}

/* Goes back to what a class hears now. */
static void go_back_for(pi2_routes *run, int i, const routes_point *at)
{
    const routes_class *c = run->classes + i;
    go_back(run, run->readers + c->reader, at);
    for (int v = c->from; v < c->end; v++)
        go_back(run, run->readers + run->visits[v].signals, at);
}

/* What those hear whose rate answers at once. */
static void answer(pi2_routes *run, const routes_point *at)
{
    const fluid_share *shares = routes_shares(run, run->mode);
    for (int i = 0; i < run->class_count; i++)
        if (run->classes[i].answers && shares[i].active) {
            go_back_for(run, i, at);
            run->heard[i] = hear(run, i, 0.0, NULL);
        }
}

/* What leaves the queues in which packets wait: shares of what entered. */
static void leave(pi2_routes *run, routes_point *at, int all)
{
    for (int q = 0; q < run->queue_count; q++) {
        routes_queue *node = run->queues + q;
        routes_reader *r = run->readers + (node->entry >= 0 ? node->entry : 0);
        if (node->entry < 0 || !r->used || (!all && !node->hands_on))
            continue;
        routes_find_entry(run, node, at->y[node->entered] - at->y[node->queue]);
        if (!run->provisional && r->d >= run->now->t)
            continue; /* it enters now: see `pass` */
        double total = 0.0, share;
        for (int k = 0; k < node->visit_count; k++) {
            const routes_visit *v = run->visits + node->visits[k];
            const double then = routes_then(run, r, v->offered);
            total += then;
            if (v->left >= 0)
                at->y[v->left] = then;
        }
        node->total = total;
        share = total > 0.0 ? at->served[q] / total : 0.0;
        for (int k = 0; k < node->visit_count; k++) {
            const routes_visit *v = run->visits + node->visits[k];
            if (v->left >= 0)
                at->y[v->left] = total > 0.0 ? at->y[v->left] * share : 0.0;
        }
    }
}

/* Whether what leaves a queue now entered it now. */
static int passes(const pi2_routes *run, int k)
{
    const routes_queue *queue = run->queues + k;
    return routes_bound(run, run->mode, k) == EMPTY
           || (!run->provisional && queue->entry >= 0 && run->readers[queue->entry].d >= run->now->t);
}

/* What comes to a node over the hop before it. */
static double coming(const pi2_routes *run, const routes_visit *v, const routes_point *at)
{
    return v->hop >= 0 ? routes_then(run, run->readers + v->hop, v->from) : at->y[v->from];
}

/* What of it enters. */
static double let_in(const pi2_routes *run, const routes_visit *v, const routes_point *at)
{
    const double rate = coming(run, v, at);
    return run->classes[v->class_].thinned ? rate * routes_kept(run->nodes + v->node, at->y) : rate;
}

/* What enters the nodes, along each route; where packets do not wait it leaves as well. */
static void pass(pi2_routes *run, routes_point *at)
{
    for (int n = 0; n < run->visit_count; n++) {
        const routes_visit *v = run->visits + n;
        at->y[v->offered] = let_in(run, v, at);
        if (v->left >= 0 && passes(run, v->queue))
            at->y[v->left] = at->y[v->offered];
    }
}

/* Where packets begin to wait just now, a full link divides what enters. Returns whether that is news. */
static int divide(pi2_routes *run, routes_point *at)
{
    int news = 0;
    for (int n = 0; n < run->visit_count; n++) {
        const routes_visit *v = run->visits + n;
        if (v->left < 0 || routes_bound(run, run->mode, v->queue) == EMPTY || !passes(run, v->queue))
            continue;
        const double total = routes_arrivals(run, v->queue, at->y);
        const double left = total > 0.0 ? at->served[v->queue] * at->y[v->offered] / total : 0.0;
        news |= left != at->y[v->left];
        at->y[v->left] = left;
    }
    return news;
}

/* All rates, or those that what moves depends on, given what dual queues get. */
static void find_rates(pi2_routes *run, routes_point *at, int all)
{
    int again = run->provisional ? 0 : MOST_ROUNDS;
    routes_delays(run, at);
    if (run->answering)
        answer(run, at);
    routes_send(run, at, run->heard, all);
    leave(run, at, all);
    pass(run, at);
    while (again-- > 0 && divide(run, at)) {
        for (int n = 0; n < run->visit_count; n++) {
            const routes_visit *v = run->visits + n;
            at->y[v->offered] = let_in(run, v, at);
            if (v->left >= 0 && routes_bound(run, run->mode, v->queue) == EMPTY)
                at->y[v->left] = at->y[v->offered];
        }
    }
}

/* What comes at once to queues without packets, on whose rates the shares of others depend. */
static void send_to_empty(pi2_routes *run, routes_point *at)
{
    for (int n = 0; n < run->visit_count; n++) {
        const routes_visit *v = run->visits + n;
        const routes_class *c = run->classes + v->class_;
        double rate = 0.0;
        if (routes_bound(run, run->mode, v->queue) != EMPTY)
            continue;
        if (routes_shares(run, run->mode)[v->class_].active)
            rate = routes_count(run, at->t, run->mode, v->class_) * routes_rate(c, at->y + c->x, 0.0, c->base_rtt);
        at->y[v->offered] = c->thinned ? rate * routes_kept(run->nodes + v->node, at->y) : rate;
    }
}

/* All rates, or those that what moves depends on. What a dual queue gets while the other is empty depends on what arrives
 * there, and that on how long it waits elsewhere. */
static void look(pi2_routes *run, routes_point *at, int all)
{
    int rounds = run->dual && !run->at_once ? MOST_ROUNDS : 1;
    for (routes_reader *r = run->readers; r < run->readers + run->hop_count; r++)
        go_to(run, r, at->t - r->delay);
    if (run->dual && run->at_once)
        send_to_empty(run, at);
    do
        find_rates(run, at, all);
    while (--rounds > 0 && routes_shares_moved(run, at));
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        if (node->bands == 2)
            routes_find_net(run, l, at, all);
        else
            at->net[node->first] = routes_arrivals(run, node->first, at->y) - run->mode->links[l].capacity;
    }
}

void routes_look(pi2_routes *run, routes_point *at)
{
    look(run, at, 1);
}

/* What class i hears: the state, probability of a signal and round-trip time of then, of which the past has been read. */
typedef struct {
    double x[PI2_SENDER_STATES], p, rtt;
} heard_then;

/* The delay of a queue where a reader looks: without dual queues each node has its own. */
static inline double delay_then(const pi2_routes *run, const routes_reader *r, int k)
{
    return SELDOM(run->dual) ? routes_dual_delay_then(run, r, k) : routes_then(run, r, k) * r->mode->links[k].per_packet;
}

/* The same of a dual queue alone: one reader sees the queues, whose delay the law looks at too, and the signals. */
static void hear_of_two(const pi2_routes *run, int i, heard_then *then)
{
    const routes_class *c = run->classes + i;
    const routes_reader *r = run->readers + c->reader;
    const routes_node *node = run->nodes;
    double state[PI2_AQM_STATES];
    pi2_seen seen;
    past_values(r->reader.cubics, run->stored, r->s, run->then);
    routes_see_two(run, 0, run->then, r->mode, &seen);
    for (int j = 0; j < c->states; j++)
        then->x[j] = run->then[c->x + j];
    then->rtt = c->base_rtt + seen.queue_delay[run->queues[c->queues[0]].band];
    then->p = 0.0;
    if (!routes_shares(run, r->mode)[i].active || r->mode->signalling == 0.0)
        return;
    routes_state(node, run->then, state);
    then->p = routes_combine(run, 0.0, routes_signal_of(c, routes_shown(node, state, &seen, routes_sides(run, r->mode, 0))));
}

static inline void hear_all(const pi2_routes *run, int i, heard_then *then)
{
    const routes_class *c = run->classes + i;
    const routes_reader *r = run->readers + c->reader;
    if (SELDOM(run->dual) && run->at_once) {
        hear_of_two(run, i, then);
        return;
    }
    then->x[0] = routes_then(run, r, c->x);
    if (!c->plain)
        for (int j = 1; j < c->states; j++)
            if (c->law->recalls & (1u << j))
                then->x[j] = routes_then(run, r, c->x + j);
    then->rtt = c->base_rtt;
    for (int k = 0; k < c->end - c->from; k++)
        then->rtt += delay_then(run, r, c->queues[k]);
    then->p = hear(run, i, 0.0, NULL);
}

/* dx/dt of class i by its law, of which the past has been read; *heard: signals of a flow per second. */
static inline void law_slopes(const pi2_routes *run, int i, const routes_point *at, double *slopes, double *heard)
{
    const routes_class *c = run->classes + i;
    const double *x = at->y + c->x;
    heard_then then;
    hear_all(run, i, &then);
    *heard = then.x[0] / then.rtt * then.p;
    if (c->plain)
        slopes[0] = fluid_window_rate(&c->law->plain, x[0], *heard, at->per_rtt[i]);
    else {
        const signed char *sides = routes_rate_sides(run, c);
        c->law->rate(c->parameters, x, then.x, then.p, at->rtt[i], then.rtt, sides, slopes);
        if (sides && !fluid_have_values(slopes, c->states))
            c->law->rate(c->parameters, x, then.x, then.p, at->rtt[i], then.rtt, NULL, slopes);
    }
}

void routes_rate_differences(pi2_routes *run, int i, const routes_point *at, double *values)
{
    const routes_class *c = run->classes + i;
    heard_then then;
    go_back_for(run, i, at);
    hear_all(run, i, &then);
    c->law->differences(c->parameters, at->y + c->x, then.x, then.p, at->rtt[i], then.rtt, routes_rate_sides(run, c),
                        values);
}

double routes_window_slope(pi2_routes *run, int i, routes_point *at)
{
    double slopes[PI2_SENDER_STATES], heard;
    go_back_for(run, i, at);
    law_slopes(run, i, at, slopes, &heard);
    return slopes[0];
}

void routes_slopes_at_rest(const pi2_routes *run, int i, const routes_point *at, double p, double *slopes)
{
    const routes_class *c = run->classes + i;
    const double *x = at->y + c->x;
    c->law->rate(c->parameters, x, x, p, at->rtt[i], at->rtt[i], NULL, slopes);
}

static inline void sender_slopes(pi2_routes *run, routes_point *at, int i)
{
    const routes_class *c = run->classes + i;
    const fluid_share *share = routes_shares(run, run->mode) + i;
    double heard = 0.0;
    if (share->active && c->listens) {
        law_slopes(run, i, at, at->f + c->x, &heard);
        if (run->floored[i])
            at->f[c->x] = 0.0;
        if (share->slow)
            at->f[c->x] = DOUBLING * at->y[c->x] / at->rtt[i];
    } else
        for (int j = 0; j < c->states; j++)
            at->f[c->x + j] = 0.0;
    if (c->expected >= 0)
        at->f[c->expected] = share->slow ? heard : 0.0;
}

/* How fast what a class sends changes. */
static double sent_slope(const pi2_routes *run, const routes_point *at, int i)
{
    const routes_class *c = run->classes + i;
    const fluid_share *share = routes_shares(run, run->mode) + i;
    const double *x = at->y + c->x, *dx = at->f + c->x, rtt = at->rtt[i];
    double d_rtt = 0.0, count, rate, slope;
    if (!share->active)
        return 0.0;
    count = routes_count(run, at->t, run->mode, i);
    for (int k = 0; k < c->end - c->from; k++)
        d_rtt += at->d_tau[c->queues[k]];
    if (c->windowed) {
        rate = x[0] * at->per_rtt[i];
        slope = (dx[0] - rate * d_rtt) * at->per_rtt[i];
    } else {
        double before[PI2_SENDER_STATES], after[PI2_SENDER_STATES];
        const double dt = rtt > 0.0 ? NUDGE * rtt : NUDGE;
        const double p0 = c->answers ? hear(run, i, -dt, at) : 0.0, p1 = c->answers ? hear(run, i, dt, at) : 0.0;
        for (int j = 0; j < c->states; j++) {
            before[j] = x[j] - dt * dx[j];
            after[j] = x[j] + dt * dx[j];
        }
        rate = routes_rate(c, x, run->heard[i], rtt);
        slope = routes_rate(c, after, p1, rtt + dt * d_rtt) - routes_rate(c, before, p0, rtt - dt * d_rtt);
        slope /= 2.0 * dt;
    }
    return count * slope + (share->ramping ? share->count / c->start_jitter * rate : 0.0);
}

/* What found room in a queue when that entered which leaves now (packets/s). */
static double let_in_then(const pi2_routes *run, const routes_queue *queue, const routes_reader *r)
{
    const routes_link *then = routes_mode_then(run, r)->links + queue->node;
    if (!routes_is_full(then, run->nodes[queue->node].bands))
        return queue->total;
    if (run->nodes[queue->node].bands == 2)
        return routes_slope_then(run, r, queue->entered);
    return queue->total > then->capacity ? then->capacity : queue->total;
}

/* The slope of a share C A(a)/sum A(a) of what leaves a queue, of those who entered at a: a moves by C/sum A(a), where the
 * buffer was full by C/C(a). */
static double share_slope(const pi2_routes *run, const routes_point *at, int q, const routes_visit *v)
{
    const routes_queue *node = run->queues + q;
    const routes_reader *r = run->readers + node->entry;
    const double capacity = at->served[q], let_in = let_in_then(run, node, r);
    double d_total = 0.0, slope;
    if (!(node->total > 0.0))
        return 0.0;
    for (int k = 0; k < node->visit_count; k++)
        d_total += routes_slope_then(run, r, run->visits[node->visits[k]].offered);
    slope = capacity * capacity / (let_in * node->total)
            * (routes_slope_then(run, r, v->offered) - routes_then(run, r, v->offered) * d_total / node->total);
    return run->dual ? slope + at->d_served[q] * routes_then(run, r, v->offered) / node->total : slope;
}

/* The same of those who enter now. */
static double present_share_slope(const pi2_routes *run, const routes_point *at, int q, const routes_visit *v)
{
    const double capacity = at->served[q], total = routes_arrivals(run, q, at->y);
    const double d_total = routes_arrivals(run, q, at->f);
    double slope;
    if (!(total > 0.0))
        return 0.0;
    slope = capacity * capacity / (total * total) * (at->f[v->offered] - at->y[v->offered] * d_total / total);
    return run->dual ? slope + at->d_served[q] * at->y[v->offered] / total : slope;
}

/* How fast delays change. */
static void delay_slopes(const pi2_routes *run, routes_point *at)
{
    for (int q = 0; q < run->queue_count; q++) /* queues come first in the state */
        at->d_tau[q] = at->f[q] * run->mode->links[routes_node_of(run, q)].per_packet;
    if (run->dual)
        routes_dual_slopes(run, at);
}

/* The slope of what is kept of thinned traffic. */
static double kept_slope(const pi2_routes *run, const routes_node *node, const routes_point *at)
{
    double *y = run->then;
    double kept[2];
    for (int side = 0; side < 2; side++) {
        for (int j = 0; j < node->moving; j++)
            y[node->controller + j] = at->y[node->controller + j]
                                      + (side ? NUDGE : -NUDGE) * at->f[node->controller + j];
        kept[side] = routes_kept(node, y);
    }
    return (kept[1] - kept[0]) / (2.0 * NUDGE);
}

static int one_is_empty(const routes_link *link)
{
    return link->bound[0] == EMPTY || link->bound[1] == EMPTY;
}

static void flow_slopes(pi2_routes *run, routes_point *at)
{
    /* A dual queue's delay follows from what enters it, and what is sent from delays: where all comes at once, of one
     * queue alone from what enters the other while that is empty and delays nothing. */
    int rounds = run->dual && run->at_once ? 1 + one_is_empty(run->mode->links)
                 : run->dual                ? 2 + run->node_count
                 : run->provisional         ? 1
                                            : 1 + run->node_count;
    int first = 1;
    while (rounds-- > 0) {
        if (first || run->dual) {
            delay_slopes(run, at);
            for (int i = 0; i < run->class_count; i++)
                at->f[run->classes[i].sent] = sent_slope(run, at, i);
        }
        first = 0;
        for (int n = 0; n < run->visit_count; n++) {
            const routes_visit *v = run->visits + n;
            const int l = v->node;
            double slope = v->hop >= 0 ? routes_slope_then(run, run->readers + v->hop, v->from) : at->f[v->from];
            if (run->classes[v->class_].thinned) {
                const double kept = routes_kept(run->nodes + l, at->y);
                slope = slope * kept + coming(run, v, at) * kept_slope(run, run->nodes + l, at);
            }
            at->f[v->offered] = slope;
            if (v->left >= 0)
                at->f[v->left] = routes_bound(run, run->mode, v->queue) == EMPTY ? slope
                                 : passes(run, v->queue)                         ? present_share_slope(run, at, v->queue, v)
                                                                                 : share_slope(run, at, v->queue, v);
        }
    }
    if (run->dual && !run->at_once)
        delay_slopes(run, at);
}

void routes_slopes(pi2_routes *run, routes_point *at, int what)
{
    look(run, at, what != WHAT_MOVES);
    for (routes_reader *r = run->readers + run->entry_end, *end = run->readers + run->reader_count; r < end; r++)
        if (r->used)
            go_back(run, r, at);
    for (int l = 0; l < run->node_count; l++) {
        const routes_node *node = run->nodes + l;
        const routes_link *link = run->mode->links + l;
        const routes_queue *queue = run->queues + node->first;
        const double *net = at->net + node->first;
        if (node->bands == 2) {
            double slopes[2];
            routes_queue_slopes(link, net, slopes);
            for (int k = 0; k < 2; k++) {
                at->f[queue[k].queue] = slopes[k];
                at->f[queue[k].entered] = slopes[k] + at->served[node->first + k];
            }
        } else {
            const double slope = routes_queue_slope(link, net[0]);
            at->f[queue->queue] = slope;
            if (run->entered >= 0)
                at->f[queue->entered] = slope + (link->bound[0] == EMPTY ? net[0] + link->capacity : link->capacity);
        }
        routes_controller_slope(run, l, at->y, net, at->f + node->controller);
        for (int j = 0; j < node->moving; j++)
            if (node->held[j] != 0.0)
                at->f[node->controller + j] = 0.0;
    }
    for (int i = 0; i < run->class_count; i++)
        sender_slopes(run, at, i);
    if (what == WITH_THEIR_SLOPES && run->alone)
        delay_slopes(run, at);
    else if (what == WITH_THEIR_SLOPES)
        flow_slopes(run, at);
}

void routes_choose(pi2_routes *run)
{
    const fluid_share *shares = routes_shares(run, run->mode);
    run->slow = 0;
    for (int r = 0; r < run->reader_count; r++)
        run->readers[r].used = run->readers[r].kind == HOP;
    for (int i = 0; i < run->class_count; i++) {
        const routes_class *c = run->classes + i;
        run->slow |= shares[i].slow;
        if (!shares[i].active || !c->listens)
            continue;
        run->readers[c->reader].used = 1;
        for (int v = c->from; v < c->end; v++)
            run->readers[run->visits[v].signals].used = 1;
    }
    for (int k = 0; k < run->queue_count; k++)
        if (run->queues[k].entry >= 0)
            run->readers[run->queues[k].entry].used = routes_bound(run, run->mode, k) != EMPTY;
    run->nearest = INFINITY;
    for (const routes_reader *r = run->readers; r < run->readers + run->reader_count; r++) {
        const double least = r->kind == ENTRY ? 0.0 : r->delay;
        run->nearest = r->used && least < run->nearest ? least : run->nearest;
    }
}
