/* Inside the lanes kernel: the pieces of one step. See pi2_fluid/engines/fluid/lanes for what they do and why. */
#pragma once

#include "lanes/state.h"
#include "lanes/tape.h"

#define DOUBLING 0.69314718055994530942 /* slow start doubles the window in one round trip */

/* ---- the queue ahead ----------------------------------------------------------------------------- */

/* What is left of thinned traffic in a step, if u goes on as it did. */
PI2_INLINE void thin_out(block *b)
{
    for (int j = NOW; j <= END; j++) {
        lane u, signal;
        LANES u[l] = b->u[l] + 0.5 * j * b->turned[l];
        if (b->p->encoder == PI2_LANES_TAPED_QUEUE) {
            const double *const given[] = {u};
            double *const out[] = {signal};
            run_tape(b, &b->p->queue.thin, given, out);
        } else
            encode(b, u, 0, signal);
        LANES b->kept[j][l] = 1.0 - signal[l];
    }
}

/* What one flow of a class of constant bit rate brings to the queue (packets/s). */
PI2_INLINE double steady(const block *b, int i, int instant, int l)
{
    return b->p->class_[i].thinned ? b->f[i].gain[l] * b->kept[instant][l] : b->f[i].gain[l];
}

/* What all classes send (packets/s) at one of the instants of a step. */
PI2_INLINE void arrive_all(block *b, const int what, lane total)
{
    const pi2_lanes_problem *p = b->p;
    const int instant = what == AHEAD ? END : what;
    lane load[PI2_LANES_CLASSES];
    LANES total[l] = 0.0;
    for (int j = 0; j < p->groups; j++)
        LANES load[j][l] = 0.0;
    for (int i = 0; i < p->classes; i++) {
        const flows *f = &b->f[i];
        const double *number = f->number[instant];
        double *sum = load[p->class_[i].group];
        if (p->class_[i].law == PI2_LANES_CBR)
            LANES total[l] += number[l] * steady(b, i, instant, l);
        else if (what == NOW)
            LANES sum[l] += number[l] * f->x[l];
        else if (what == MIDDLE)
            LANES sum[l] += number[l] * f->middle[l];
        else if (what == END)
            LANES sum[l] += number[l] * f->x1[l];
        else
            LANES sum[l] += number[l] * (f->x[l] + f->moved[l]);
    }
    for (int j = 0; j < p->groups; j++) {
        if (!b->g[j].listens)
            continue; /* its round-trip time may be 0 */
        const double *per_rtt = what == AHEAD ? b->g[j].per_rtt_ahead : b->g[j].per_rtt[instant];
        LANES total[l] += load[j][l] * per_rtt[l];
    }
}

PI2_INLINE void delay_all(block *b, const lane queue, const int instant)
{
    for (int j = 0; j < b->p->groups; j++) {
        group *g = &b->g[j];
        LANES {
            g->rtt[instant][l] = g->base[l] + queue[l] * b->per_capacity[l];
            g->per_rtt[instant][l] = 1.0 / g->rtt[instant][l];
        }
    }
}

/* Where the queue goes, by Heun's method, and with it every round-trip time. */
PI2_INLINE void predict(block *b)
{
    lane total, ahead, middle, growth;
    LANES ahead[l] = within(b->queue[l] + b->h[l] * b->growth[l], 0.0, b->buffer[l]);
    for (int j = 0; j < b->p->groups; j++) {
        group *g = &b->g[j];
        LANES g->per_rtt_ahead[l] = 1.0 / (g->base[l] + ahead[l] * b->per_capacity[l]);
    }
    arrive_all(b, AHEAD, total);
    LANES growth[l] = total[l] - b->capacity[l];
    LANES ahead[l] = within(b->queue[l] + 0.5 * b->h[l] * (b->growth[l] + growth[l]), 0.0, b->buffer[l]);
    LANES {
        const double q = b->queue[l], to = ahead[l], most = b->buffer[l];
        const int free = (q > 0.0) & (to > 0.0) & (q < most) & (to < most);
        middle[l] = 0.5 * (q + to) + (free ? 0.125 * b->h[l] * (b->growth[l] - growth[l]) : 0.0);
    }
    delay_all(b, middle, MIDDLE);
    delay_all(b, ahead, END);
}

/* ---- the past ------------------------------------------------------------------------------------ */

/* The two parts of the past that a group hears in the step after node k, in the order of hearing. */
PI2_INLINE void look(const block *b, group *g, int32_t k)
{
    const int ticks = !b->p->continuous;
    const double now = k;
    part *one = &g->part[0], *two = &g->part[1];
    LANES {
        const double start = -g->rtt[NOW][l] * b->per_h[l], stop = 1.0 - g->rtt[END][l] * b->per_h[l];
        const double low = lower(start, stop), high = higher(start, stop);
        const double first = down(low), last = down(high);
        const int crosses = last > first;
        double node = last;
        if (ticks) {
            const double tick = down((last + now + 0.5) * b->per_tick[l]) * b->ticks[l] - now;
            node = tick > first ? tick : last;
        }
        node = crosses ? node : low;
        const double a = crosses ? (node - low) / (crosses ? high - low : 1.0) : 0.0, c = 1.0 - a;
        const double older = 0.5 * (low + node), newer = 0.5 * (node + high);
        const int back = stop < start;
        const double w1 = back ? c : a, w2 = back ? a : c;
        const double p1 = back ? newer : older, p2 = back ? older : newer;
        const double c1 = lower(down(p1), -1.0), c2 = lower(down(p2), -1.0);
        const double r0 = g->rtt[NOW][l], r1 = g->rtt[END][l], bow = 4.0 * (g->rtt[MIDDLE][l] - 0.5 * (r0 + r1));
        const double t1 = 0.5 * w1, t2 = w1 + 0.5 * w2;
        one->weight[l] = w1;
        two->weight[l] = w2;
        one->share[l] = p1 - c1;
        two->share[l] = p2 - c2;
        one->cell[l] = c1 + now;
        two->cell[l] = c2 + now;
        one->per_rtt[l] = 1.0 / (r0 + t1 * (r1 - r0) + t1 * (1.0 - t1) * bow);
        two->per_rtt[l] = 1.0 / (r0 + t2 * (r1 - r0) + t2 * (1.0 - t2) * bow);
    }
    for (int j = 0; j < 2; j++) {
        part *t = &g->part[j];
        const int32_t mask = b->mask, stride = b->stride;
        LANES {
            /* whatever the number (NaN becomes the lower bound), the mask keeps the place within the past */
            const uint32_t cell = (uint32_t)(int32_t)within(t->cell[l], -0x1p30, 0x1p30);
            t->here[l] = (int32_t)(cell & (uint32_t)mask) * stride + l;
            t->there[l] = (int32_t)((cell + 1u) & (uint32_t)mask) * stride + l;
        }
    }
}

PI2_INLINE void gather(const block *b, const index_lane place, int field, double *restrict out)
{
    const double *restrict past = b->past + (size_t)field * V;
    LANES out[l] = past[place[l]];
}

/* The delay and the signals of a part of the past. */
PI2_INLINE void hear(const block *b, const group *g, part *t)
{
    lane from, to, speed;
    gather(b, t->here, b->row.queue, from);
    gather(b, t->there, b->row.queue, to);
    if (b->row.per_capacity >= 0)
        gather(b, t->here, b->row.per_capacity, speed);
    else
        LANES speed[l] = b->per_capacity[l];
    LANES t->per_rtt_then[l] = 1.0 / (g->base[l] + (from[l] + t->share[l] * (to[l] - from[l])) * speed[l]);
    for (int s = 0; s < 2; s++) {
        if (b->row.signal[s] < 0)
            continue;
        gather(b, t->here, b->row.signal[s], from);
        LANES t->signal[s][l] = from[l];
        if (b->row.end[s] >= 0) {
            gather(b, t->here, b->row.end[s], to);
            LANES t->signal[s][l] = from[l] + t->share[l] * (to[l] - from[l]);
        }
    }
}

/* ---- the windows --------------------------------------------------------------------------------- */

PI2_INLINE double damped(double first, double second)
{
    const double z = lower(2.0 * (second - first) / first, 0.0);
    return first / (1.0 - z * (0.5 - z * (1.0 / 12.0)));
}

/* The explicit midpoint rule over both parts of the past. Returns whether that was too simple: a window would
 * have lost half of itself. `thorough`: damp that, and keep what slow start needs. */
PI2_INLINE int move_window(block *b, int i, const int thorough)
{
    const pi2_lanes_class *c = &b->p->class_[i];
    flows *f = &b->f[i];
    const group *g = &b->g[c->group];
    const int s = signal_of(b, c), reno = c->law == PI2_LANES_RENO;
    lane x, slope[2], least;
    LANES x[l] = f->x[l];
    LANES least[l] = 1.0;
    if (thorough)
        LANES f->heard[l] = 0.0;
    for (int j = 0; j < 2; j++) {
        const part *t = &g->part[j];
        lane from, to;
        gather(b, t->here, b->row.window[i], from);
        gather(b, t->there, b->row.window[i], to);
        LANES {
            const double then = from[l] + t->share[l] * (to[l] - from[l]);
            const double p = t->cell[l] < f->start[l] ? 0.0 : t->signal[s][l];
            const double heard = then * t->per_rtt_then[l] * p, loss = f->gain[l] * heard;
            const double d = t->weight[l] * b->h[l], gain = t->per_rtt[l];
            const double fixed = reno ? gain : gain - loss, decay = reno ? loss : 0.0;
            const double first = fixed - decay * x[l];
            double second = fixed - decay * (x[l] + 0.5 * d * first);
            const double left = x[l] * (x[l] + 2.0 * d * first);
            least[l] = lower(least[l], left);
            if (thorough) {
                second = left < 0.0 ? damped(left < 0.0 ? first : 1.0, second) : second;
                f->heard[l] += d * heard;
                f->fixed[l] = fixed;
                f->decay[l] = decay;
            }
            slope[j][l] = second;
            x[l] = higher(x[l] + d * second, 0.0); /* held at 0 where its law would carry it below */
        }
    }
    LANES {
        const int on = f->active[l] > 0.0;
        const double bump = 0.75 * b->h[l] * g->part[0].weight[l] * g->part[1].weight[l];
        f->x1[l] = on ? x[l] : f->x[l];
        f->middle[l] = higher(0.5 * (f->x[l] + f->x1[l]) + bump * (slope[0][l] - slope[1][l]), 0.0);
    }
    int64_t any = 0;
    LANES any |= least[l] < 0.0 ? 1 : 0;
    return any != 0;
}

static void move_window_thoroughly(block *b, int i)
{
    move_window(b, i, 1);
}

PI2_INLINE double grown(double z)
{
    return 1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0 * (1.0 + z / 5.0))));
}

/* Logarithm of the factor by which a window in slow start grows in the step. */
static double slow_growth(const block *b, const group *g, int l)
{
    return DOUBLING * b->h[l] * ((g->per_rtt[NOW][l] + 4.0 * g->per_rtt[MIDDLE][l] + g->per_rtt[END][l]) / 6.0);
}

/* Slow start, for those still in it, until one signal is expected. */
static void start_slowly(block *b, int i)
{
    flows *f = &b->f[i];
    f->slowly = 0;
    for (int l = 0; l < V; l++) {
        f->slowly |= f->slow[l];
        if (!f->slow[l] || !(f->active[l] > 0.0))
            continue;
        const double before = f->expected[l], after = before + f->heard[l], h = b->h[l];
        const double whole = slow_growth(b, &b->g[b->p->class_[i].group], l);
        const int ends = after >= 1.0;
        const double part = ends ? (1.0 - before) / (after - before) : 1.0;
        const double x = f->x[l] * grown(part * whole);
        f->x1[l] = ends ? higher(x + (1.0 - part) * h * (f->fixed[l] - f->decay[l] * x), 0.0) : x;
        f->middle[l] = ends ? 0.5 * (f->x[l] + f->x1[l]) : f->x[l] * grown(0.5 * whole);
        f->expected[l] = after;
        f->slow[l] = !ends;
    }
}

/* The buffer of a lane has filled, at `part` of the step: its slow starts end there. */
static void end_slow_start(block *b, int l, double part)
{
    for (int i = 0; i < b->p->classes; i++) {
        flows *f = &b->f[i];
        if (b->p->class_[i].law == PI2_LANES_TAPED || !f->slow[l] || !(f->active[l] > 0.0))
            continue;
        f->x1[l] = f->x[l] * grown(part * slow_growth(b, &b->g[b->p->class_[i].group], l));
        f->slow[l] = 0;
    }
}

/* ---- the controller between ticks ---------------------------------------------------------------- */

/* How fast the queue moves where its bounds let it. */
PI2_INLINE double held(double queue, double growth, double most)
{
    return ((queue <= 0.0) & (growth < 0.0)) | ((queue >= most) & (growth > 0.0)) ? 0.0 : growth;
}

/* The integral part of the controller's flow, per second: what updates would add in that time. */
PI2_INLINE double integral(const block *b, int l, double factor, double u, double delay)
{
    const double step = temper(b->p, u, delay, factor * b->alpha[l] * (delay - b->target[l]));
    return (step + (delay == 0.0 ? (b->p->decay - 1.0) * u : 0.0)) * b->per_interval[l];
}

static void flow_controller(block *b, const lane queue1, const lane growth1)
{
    lane factor0, factor1, delay1, both, mean, ahead;
    gain_factor(b, b->u, factor0);
    LANES {
        delay1[l] = queue1[l] / b->capacity[l];
        both[l] = b->beta[l] + b->alpha[l] / 2.0;
        mean[l] = (delay1[l] - b->delay[l]) * b->per_h[l];
        ahead[l] = b->u[l]
            + b->h[l] * (integral(b, l, factor0[l], b->u[l], b->delay[l]) + factor0[l] * both[l] * mean[l]);
    }
    gain_factor(b, ahead, factor1);
    LANES {
        const double h = b->h[l], u = b->u[l], limit = b->limit[l];
        const double i0 = integral(b, l, factor0[l], u, b->delay[l]);
        const double i1 = integral(b, l, factor1[l], ahead[l], delay1[l]);
        const double p0 = factor0[l] * both[l], p1 = factor1[l] * both[l];
        const double s0 = held(b->queue[l], b->growth[l], b->buffer[l]) / b->capacity[l];
        const double s1 = held(queue1[l], growth1[l], b->buffer[l]) / b->capacity[l];
        const double turn = excursion(h * (i0 + p0 * s0), h * (i1 + p1 * s1));
        const double bottom = u + lower(turn, 0.0), top = u + higher(turn, 0.0);
        const double pushed = (within(bottom, 0.0, limit) - bottom) + (within(top, 0.0, limit) - top);
        b->u[l] = within(u + (0.5 * h * ((i0 + p0 * mean[l]) + (i1 + p1 * mean[l])) + pushed), 0.0, limit);
    }
}

/* The capacity of a lane changes: the delay jumps, and the continuous controller with it. */
static void jump(block *b, int l, double capacity)
{
    const double delay = b->queue[l] / capacity - b->queue[l] / b->capacity[l];
    lane factor;
    gain_factor(b, b->u, factor);
    b->u[l] = within(b->u[l] + factor[l] * (b->beta[l] + b->alpha[l] / 2.0) * delay, 0.0, b->limit[l]);
}
