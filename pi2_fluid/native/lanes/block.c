/* Blocks of runs, node after node.
 *
 * Compiled once per instruction set (PI2_SIMD names it, see CMakeLists.txt); lanes.c picks one at run time.
 * The past of a block is a ring of rows, one per node; a row holds the lanes of one number after those of another.
 */
#include "lanes/block.h"

#include "lanes/queue.h"
#include "lanes/step.h"
#include "lanes/taped.h"

#define PI2_JOIN_(a, b) a##b
#define PI2_JOIN(a, b) PI2_JOIN_(a, b)

/* ---- the rows of a problem ----------------------------------------------------------------------- */

PI2_INLINE double number_at(const pi2_lanes_problem *p, const double *rows, size_t row, size_t run)
{
    return rows[row * p->runs + run];
}

PI2_INLINE int32_t node_at(const pi2_lanes_problem *p, const int32_t *rows, int row, size_t run)
{
    return rows[(size_t)row * p->runs + run];
}

PI2_INLINE double count_at(const pi2_lanes_problem *p, size_t stage, int i, size_t run)
{
    return number_at(p, p->count, stage * (size_t)p->classes + (size_t)i, run);
}

/* Puts the states of a class into a row of the past, as far as they are read from there. */
PI2_INLINE void keep_states(const block *b, int32_t k, int i)
{
    const flows *f = &b->f[i];
    if (b->row.window[i] >= 0)
        memcpy(row_of(b, k, b->row.window[i]), f->x, sizeof f->x);
    for (int j = 1; j < b->p->class_[i].states; j++)
        if (b->row.more[i][j - 1] >= 0)
            memcpy(row_of(b, k, b->row.more[i][j - 1]), f->more[j - 1], sizeof f->more[j - 1]);
}

/* ---- beginning ----------------------------------------------------------------------------------- */

/* Where the further states of a class begin among the rows of all of them. */
static size_t further(const pi2_lanes_problem *p, int i)
{
    size_t row = 0;
    for (int j = 0; j < i; j++)
        row += p->class_[j].states > 1 ? (size_t)p->class_[j].states - 1 : 0;
    return row;
}

static void load_class(block *b, int i)
{
    const pi2_lanes_problem *p = b->p;
    flows *f = &b->f[i];
    for (int j = 1; j < p->class_[i].states; j++)
        LANES f->more[j - 1][l] = f->more1[j - 1][l] = number_at(p, p->state, further(p, i) + (size_t)j - 1, b->run[l]);
    f->slowly = p->class_[i].slow_start;
    for (int l = 0; l < V; l++) {
        const size_t r = b->run[l];
        f->start[l] = node_at(p, p->start, i, r);
        f->gain[l] = number_at(p, p->gain, (size_t)i, r);
        f->x[l] = f->x1[l] = f->middle[l] = number_at(p, p->window, (size_t)i, r);
        f->ramp[l] = number_at(p, p->ramp, (size_t)i, r);
        f->moved[l] = f->expected[l] = 0.0;
        f->slow[l] = p->class_[i].slow_start;
        b->ramps |= f->ramp[l] > 0.0;
        for (int j = 0; j < PI2_LANES_CLASS_STATISTICS; j++)
            b->each[i][j][l] = j == PI2_LANES_WINDOW_MIN ? INFINITY : 0.0;
    }
}

static void load_queue(block *b)
{
    const pi2_lanes_queue *q = &b->p->queue;
    const pi2_lanes_tape *const tapes[] = {&q->update, &q->flow, &q->drift, &q->saturate, &q->controller, &q->signals, &q->thin};
    if (!is_taped(b))
        return;
    for (size_t j = 0; j < sizeof tapes / sizeof *tapes; j++)
        load_tape(b, tapes[j]);
    for (int j = 0; j < q->states; j++)
        LANES b->law[j][l] = number_at(b->p, b->p->law, (size_t)j, b->run[l]);
    LANES {
        b->lost[l] = 0.0;
        b->interval[l] = b->p->update_interval[b->run[l]];
    }
    find_controller(b);
}

static void load(block *b, const pi2_lanes_problem *p, size_t begin, size_t depth, double *work)
{
    b->p = p;
    b->row = pi2_lanes_layout(p);
    b->past = work;
    b->room = work + pi2_lanes_past(p, depth);
    b->mask = (int32_t)depth - 1;
    b->stride = b->row.fields * V;
    b->ramps = b->thins = 0;
    for (int l = 0; l < V; l++) {
        /* what is added to complete a block is its last run again */
        const size_t r = begin + (size_t)l < p->runs ? begin + (size_t)l : p->runs - 1;
        const int32_t ticks = p->ticks[r];
        b->run[l] = r;
        b->h[l] = p->h[r];
        b->per_h[l] = 1.0 / b->h[l];
        b->ticks[l] = ticks;
        b->per_tick[l] = 1.0 / (ticks > 0 ? ticks : 1);
        b->next_tick[l] = p->continuous ? INT32_MAX : ticks;
        b->alpha[l] = p->alpha[r];
        b->beta[l] = p->beta[r];
        b->target[l] = p->target[r];
        b->per_interval[l] = 1.0 / p->update_interval[r];
        b->limit[l] = p->limit[r];
        b->k[l] = p->k[r];
        b->buffer[l] = p->buffer[r];
        b->capacity[l] = p->capacity[r];
        b->queue[l] = b->u[l] = b->before[l] = b->turned[l] = 0.0;
        for (int j = 0; j < PI2_LANES_STATISTICS; j++)
            b->sum[j][l] = 0.0;
        b->sum[PI2_LANES_DELAY_MIN][l] = b->sum[PI2_LANES_CONTROLLER_MIN][l] = INFINITY;
        for (int j = 0; j < p->groups; j++)
            b->g[j].base[l] = number_at(p, p->base_rtt, (size_t)j, r);
    }
    for (int j = 0; j < p->groups; j++)
        b->g[j].listens = 0;
    for (int i = 0; i < p->classes; i++) {
        load_class(b, i);
        load_tape(b, &p->class_[i].rate);
        load_tape(b, &p->class_[i].leave);
        b->thins |= p->class_[i].thinned;
        b->g[p->class_[i].group].listens |= p->class_[i].law != PI2_LANES_CBR;
    }
    load_queue(b);
    memset(work, 0, pi2_lanes_past(p, depth) * sizeof *work);
    for (int32_t k = 0; k < (int32_t)depth; k++)
        for (int i = 0; i < p->classes; i++)
            keep_states(b, k, i);
}

/* ---- what happens at nodes ----------------------------------------------------------------------- */

static int32_t sooner(int32_t next, int32_t at, int32_t k)
{
    return at > k && at < next ? at : next;
}

/* Who sends, how fast the link is, and what counts from node k on. Returns when that may change. */
static int32_t change(block *b, int32_t k)
{
    const pi2_lanes_problem *p = b->p;
    int32_t next = INT32_MAX;
    int jumps = 0;
    lane old;
    memcpy(old, b->capacity, sizeof old);
    for (int l = 0; l < V; l++) {
        const size_t r = b->run[l];
        const int32_t first = p->first[r], last = p->last[r];
        size_t stage = 0;
        for (int j = 0; j < p->events; j++) {
            stage += node_at(p, p->event, j, r) <= k;
            next = sooner(next, node_at(p, p->event, j, r), k);
        }
        const double capacity = number_at(p, p->capacity, stage, r);
        jumps |= capacity != b->capacity[l];
        if (p->continuous && !is_taped(b) && capacity != b->capacity[l])
            jump(b, l, capacity);
        b->capacity[l] = capacity;
        b->per_capacity[l] = 1.0 / capacity;
        b->running[l] = k < last;
        b->counted[l] = k >= first && k < last;
        next = sooner(sooner(next, first, k), last, k);
        for (int i = 0; i < p->classes; i++) {
            flows *f = &b->f[i];
            const int32_t start = node_at(p, p->start, i, r), stop = node_at(p, p->stop, i, r);
            f->active[l] = k >= start && k < stop;
            f->counts[l] = b->counted[l] * f->active[l];
            f->count[l] = f->active[l] * count_at(p, stage, i, r);
            next = sooner(sooner(next, start, k), stop, k);
        }
    }
    if (jumps && p->queue.flows)
        jump_by_tape(b, old);
    for (int i = 0; i < p->classes; i++)
        for (int j = NOW; j <= END; j++)
            memcpy(b->f[i].number[j], b->f[i].count, sizeof b->f[i].count);
    return next;
}

/* How many flows send while they start one after the other. */
static void count_flows(block *b, int32_t k)
{
    for (int i = 0; i < b->p->classes; i++) {
        flows *f = &b->f[i];
        for (int j = NOW; j <= END; j++)
            LANES {
                const double ramp = f->ramp[l], past = k + 0.5 * j - f->start[l];
                f->number[j][l] = f->count[l] * (ramp > 0.0 ? within(past / (ramp > 0.0 ? ramp : 1.0), 0.0, 1.0) : 1.0);
            }
    }
}

/* Updates the controllers of those lanes that tick at node k, and returns when the next one does. */
static int32_t tick(block *b, int32_t k)
{
    int32_t next = INT32_MAX;
    lane factor;
    gain_factor(b, b->u, factor);
    for (int l = 0; l < V; l++) {
        if (b->next_tick[l] == k) {
            const double u = b->u[l], delay = b->delay[l], before = b->before[l];
            const double step = factor[l] * (b->alpha[l] * (delay - b->target[l]) + b->beta[l] * (delay - before));
            const double new = u + temper(b->p, u, delay, step);
            b->u[l] = within((delay == 0.0) & (before == 0.0) ? new * b->p->decay : new, 0.0, b->limit[l]);
            b->before[l] = delay;
            b->next_tick[l] += (int32_t)b->ticks[l];
        }
        next = b->next_tick[l] < next ? b->next_tick[l] : next;
    }
    return next;
}

/* A queue as tapes sees what arrives, with what it drops as it was, updates if it is time, and signals. */
static void sense(block *b, int32_t k, int32_t *next_tick)
{
    const sight s = {b->delay, b->queue, b->arrivals, b->capacity, b->lost};
    if (b->thins)
        thin_out(b);
    arrive_all(b, NOW, b->arrivals);
    if (k == *next_tick)
        *next_tick = tick_by_tape(b, k, &s);
    find_controller(b);
    find_signals(b, b->law, &s, b->signal);
}

/* Everything that node k knows, and its row of the past. */
PI2_INLINE void arrive(block *b, int32_t k, int32_t *next_tick)
{
    if (b->ramps)
        count_flows(b, k);
    LANES b->delay[l] = b->queue[l] * b->per_capacity[l];
    delay_all(b, b->queue, NOW);
    if (is_taped(b))
        sense(b, k, next_tick);
    else if (k == *next_tick)
        *next_tick = tick(b, k);
    if (b->thins)
        thin_out(b);
    if (b->thins || !is_taped(b))
        arrive_all(b, NOW, b->arrivals);
    LANES b->growth[l] = b->arrivals[l] - b->capacity[l];
    LANES b->u0[l] = b->u[l];
    memcpy(row_of(b, k, b->row.queue), b->queue, sizeof b->queue);
    if (b->row.per_capacity >= 0)
        memcpy(row_of(b, k, b->row.per_capacity), b->per_capacity, sizeof b->per_capacity);
    for (int s = 0; s < 2; s++)
        if (b->row.signal[s] >= 0) {
            if (!is_taped(b))
                encode(b, b->u, s, b->signal[s]);
            memcpy(row_of(b, k, b->row.signal[s]), b->signal[s], sizeof b->signal[s]);
        }
    for (int i = 0; i < b->p->classes; i++)
        keep_states(b, k, i);
}

/* ---- statistics ---------------------------------------------------------------------------------- */

/* Whether packets of a class are signalled at all: not those that nothing is dropped of, and that obey nothing. */
PI2_INLINE int is_signalled(const pi2_lanes_class *c)
{
    return c->law != PI2_LANES_CBR || c->thinned;
}

PI2_INLINE void count_class(block *b, int i, const lane per, const lane delay1, const lane end[2])
{
    const pi2_lanes_class *c = &b->p->class_[i];
    const flows *f = &b->f[i];
    const group *g = &b->g[c->group];
    const double *was = f->number[NOW], *is = f->number[END];
    lane *restrict own = b->each[i];
    lane x0, x1, signal;
    if (c->law == PI2_LANES_CBR) {
        lane rate0, rate1;
        LANES rate0[l] = steady(b, i, NOW, l);
        LANES rate1[l] = steady(b, i, END, l);
        LANES own[PI2_LANES_SENT][l] += f->counts[l] * (per[l] * (was[l] * rate0[l] + is[l] * rate1[l]));
        LANES x0[l] = (was[l] > 0.0 ? f->gain[l] : 0.0) * g->rtt[NOW][l];
        LANES x1[l] = (is[l] > 0.0 ? f->gain[l] : 0.0) * (g->base[l] + delay1[l]);
    } else {
        LANES x0[l] = f->x[l];
        LANES x1[l] = f->x1[l];
        LANES own[PI2_LANES_SENT][l] += f->counts[l] * (per[l] * (was[l] * x0[l] * g->per_rtt[NOW][l] + is[l] * x1[l] * g->per_rtt[END][l]));
    }
    const int s = signal_of(b, c);
    LANES signal[l] = is_signalled(c) ? b->signal[s][l] + end[s][l] : 0.0;
    LANES own[PI2_LANES_WINDOW][l] += f->counts[l] * (x0[l] + x1[l]);
    LANES own[PI2_LANES_SIGNAL][l] += f->counts[l] * signal[l];
    LANES own[PI2_LANES_WINDOW_MIN][l] = f->counts[l] > 0.0 ? lower(own[PI2_LANES_WINDOW_MIN][l], x1[l]) : own[PI2_LANES_WINDOW_MIN][l];
}

PI2_INLINE void count_range(const block *b, const lane from, const lane to, double *restrict sum, double *restrict square,
                            double *restrict least, double *restrict most)
{
    LANES {
        const double w = b->counted[l], x = from[l], y = to[l];
        sum[l] += w * (x + y);
        square[l] += w * (x * x + x * y + y * y);
        least[l] = w > 0.0 ? lower(least[l], lower(x, y)) : least[l];
        most[l] = w > 0.0 ? higher(most[l], higher(x, y)) : most[l];
    }
}

PI2_INLINE void count(block *b, const lane queue1, const lane pushed, const lane arrivals1, const lane end[2])
{
    lane *restrict sum = b->sum;
    lane delay1, per;
    LANES delay1[l] = queue1[l] * b->per_capacity[l];
    count_range(b, b->delay, delay1, sum[PI2_LANES_DELAY], sum[PI2_LANES_DELAY_SQUARE], sum[PI2_LANES_DELAY_MIN],
                sum[PI2_LANES_DELAY_MAX]);
    count_range(b, b->u0, b->u, sum[PI2_LANES_CONTROLLER], sum[PI2_LANES_CONTROLLER_SQUARE],
                sum[PI2_LANES_CONTROLLER_MIN], sum[PI2_LANES_CONTROLLER_MAX]);
    LANES {
        const double served = b->h[l] * b->capacity[l] - higher(pushed[l], 0.0), total = b->arrivals[l] + arrivals1[l];
        sum[PI2_LANES_SERVED][l] += b->counted[l] * served;
        sum[PI2_LANES_LOST][l] += b->counted[l] * higher(-pushed[l], 0.0);
        sum[PI2_LANES_DEEPEST][l] = higher(sum[PI2_LANES_DEEPEST][l], b->running[l] * b->delay[l]);
        per[l] = served / (total > 0.0 ? total : 1.0);
    }
    for (int i = 0; i < b->p->classes; i++)
        count_class(b, i, per, delay1, end);
}

/* Reports those lanes of which node k is a sample; `place` is the next one of each. */
static void sample(const block *b, int32_t k, int *place, size_t own, pi2_lanes_result result)
{
    const pi2_lanes_problem *p = b->p;
    const size_t classes = (size_t)p->classes, rows = PI2_LANES_TRACES + 2 * classes, n = p->runs;
    for (int l = 0; l < V && (size_t)l < own; l++)
        for (; place[l] < p->samples && node_at(p, p->sample, place[l], b->run[l]) == k; place[l]++) {
            double *at = result.traces + (size_t)place[l] * rows * n + b->run[l];
            at[PI2_LANES_TRACE_QUEUE * n] = b->queue[l];
            at[PI2_LANES_TRACE_DELAY * n] = b->delay[l];
            at[PI2_LANES_TRACE_CONTROLLER * n] = b->u[l];
            at += PI2_LANES_TRACES * n;
            for (int i = 0; i < p->classes; i++, at += n) {
                const int none = p->class_[i].law == PI2_LANES_CBR;
                const double rate = b->f[i].number[NOW][l] > 0.0 ? b->f[i].gain[l] : 0.0;
                at[0] = none ? rate * b->g[p->class_[i].group].rtt[NOW][l] : b->f[i].x[l];
                at[classes * n] = is_signalled(&p->class_[i]) ? b->signal[signal_of(b, &p->class_[i])][l] : 0.0;
            }
        }
}

/* ---- node after node ----------------------------------------------------------------------------- */

/* The law of a queue as tapes over the step after node k, and what packets are sent at its end. */
static void move_queue(block *b, int32_t k, const lane queue1, const lane pushed, const lane growth1,
                       const lane arrivals1, lane end[2])
{
    const pi2_lanes_queue *q = &b->p->queue;
    lane delay1, lost1;
    const sight before = {b->delay, b->queue, b->arrivals, b->capacity, b->lost};
    const sight after = {delay1, queue1, arrivals1, b->capacity, lost1};
    LANES {
        delay1[l] = queue1[l] / b->capacity[l];
        lost1[l] = higher(-pushed[l], 0.0) * b->per_h[l];
    }
    if (q->flows)
        flow_by_tape(b, &before, &after, growth1);
    if (q->drifts)
        drift_by_tape(b, &before, &after);
    if (b->p->follows) {
        find_signals(b, b->law, &after, end);
        for (int s = 0; s < 2; s++)
            memcpy(row_of(b, k, b->row.end[s]), end[s], sizeof end[s]);
    }
    find_controller(b);
    LANES b->turned[l] = b->u[l] - b->u0[l];
    LANES b->lost[l] = lost1[l];
}

/* From node k to the next, before what happens there. */
PI2_INLINE void advance(block *b, int32_t k)
{
    const pi2_lanes_problem *p = b->p;
    lane arrivals1, halfway, raw, queue1, pushed, growth1, end[2];
    predict(b);
    for (int j = 0; j < p->groups; j++) {
        if (!b->g[j].listens)
            continue;
        look(b, &b->g[j], k);
        hear(b, &b->g[j], &b->g[j].part[0]);
        hear(b, &b->g[j], &b->g[j].part[1]);
    }
    for (int i = 0; i < p->classes; i++) {
        if (p->class_[i].law == PI2_LANES_TAPED) {
            move_by_tape(b, i);
            continue;
        }
        if (b->row.window[i] < 0 || (!b->f[i].slowly && !move_window(b, i, 0)))
            continue;
        move_window_thoroughly(b, i);
        if (b->f[i].slowly)
            start_slowly(b, i);
    }
    arrive_all(b, END, arrivals1);
    arrive_all(b, MIDDLE, halfway);
    LANES {
        const double q = b->queue[l], h = b->h[l], most = b->buffer[l], g0 = b->growth[l];
        const double g1 = arrivals1[l] - b->capacity[l], turn = excursion(h * g0, h * g1);
        const double beyond = lower(q + lower(turn, 0.0), 0.0) + higher(q + higher(turn, 0.0) - most, 0.0);
        raw[l] = q + h / 6.0 * (g0 + 4.0 * (halfway[l] - b->capacity[l]) + g1);
        queue1[l] = within(raw[l] - beyond, 0.0, most);
        pushed[l] = queue1[l] - raw[l];
        growth1[l] = g1;
    }
    index_lane full;
    int64_t any = 0;
    LANES full[l] = (pushed[l] < 0.0) & (queue1[l] >= b->buffer[l]) ? 1 : 0;
    LANES any |= full[l];
    if (any) {
        lane part;
        LANES part[l] = full[l] ? within((b->buffer[l] - b->queue[l]) / (raw[l] - b->queue[l]), 0.0, 1.0) : 1.0;
        for (int l = 0; l < V; l++)
            if (full[l])
                end_slow_start(b, l, part[l]);
        end_slow_start_by_tape(b, full, part);
    }
    memcpy(end, b->signal, sizeof end);
    if (is_taped(b))
        move_queue(b, k, queue1, pushed, growth1, arrivals1, end);
    else if (p->continuous) {
        flow_controller(b, queue1, growth1);
        LANES b->turned[l] = b->u[l] - b->u0[l];
        for (int s = 0; s < 2; s++)
            if (b->row.end[s] >= 0) {
                encode(b, b->u, s, end[s]);
                memcpy(row_of(b, k, b->row.end[s]), end[s], sizeof end[s]);
            }
    }
    count(b, queue1, pushed, arrivals1, end);
    for (int i = 0; i < p->classes; i++) {
        flows *f = &b->f[i];
        LANES f->moved[l] = f->x1[l] - f->x[l];
        LANES f->x[l] = f->x1[l];
        for (int j = 1; j < p->class_[i].states; j++)
            memcpy(f->more[j - 1], f->more1[j - 1], sizeof f->more[j - 1]);
    }
    LANES b->queue[l] = queue1[l];
}

void PI2_JOIN(pi2_lanes_block_, PI2_SIMD)(const pi2_lanes_problem *p, size_t begin, size_t depth, double *work,
                                          pi2_lanes_result result)
{
    block *const b = (block *)(void *)(work + pi2_lanes_past(p, depth) + p->kept * V); /* too large for some stacks */
    const size_t own = p->runs - begin < V ? p->runs - begin : V;
    int32_t end = 0, next_change = 0, next_tick = INT32_MAX;
    int place[V] = {0};
    load(b, p, begin, depth, work);
    for (int l = 0; l < V; l++) {
        const int32_t last = p->last[b->run[l]];
        end = last > end ? last : end;
        next_tick = b->next_tick[l] < next_tick ? b->next_tick[l] : next_tick;
    }
    for (int32_t k = 0;; k++) {
        if (k == next_change)
            next_change = change(b, k);
        arrive(b, k, &next_tick);
        if (p->samples)
            sample(b, k, place, own, result);
        if (k == end)
            break;
        advance(b, k);
    }
    for (size_t l = 0; l < own; l++) {
        double *at = result.statistics + begin + l;
        for (int j = 0; j < PI2_LANES_STATISTICS; j++, at += p->runs)
            *at = b->sum[j][l];
        for (int i = 0; i < p->classes; i++)
            for (int j = 0; j < PI2_LANES_CLASS_STATISTICS; j++, at += p->runs)
                *at = b->each[i][j][l];
    }
}

size_t PI2_JOIN(pi2_lanes_size_, PI2_SIMD)(void)
{
    return sizeof(block);
}
