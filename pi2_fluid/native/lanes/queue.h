/* Inside the lanes kernel: a queue whose law is tapes, over one step. What step.h does for PI and its kin is done here for
 * any law, by the same rules. */
#pragma once

#include "lanes/step.h"
#include "lanes/tape.h"

/* What the queue sees; its capacity is that of the block. */
typedef struct {
    const double *delay, *queue, *arrivals, *capacity, *lost;
} sight;

/* Runs a tape of the queue's law at a state, with what it sees, and one input more or NULL. */
static void run_law(const block *b, const pi2_lanes_tape *t, lane *state, const sight *s, const double *last, lane *result)
{
    const double *given[PI2_LANES_STATES + 6];
    double *out[PI2_LANES_STATES];
    const int n = b->p->queue.states;
    for (int j = 0; j < n; j++)
        given[j] = state[j];
    if (s) {
        given[n] = s->delay;
        given[n + 1] = s->queue;
        given[n + 2] = s->arrivals;
        given[n + 3] = s->capacity;
        given[n + 4] = s->lost;
        given[n + 5] = last;
    }
    for (int j = 0; j < t->outputs; j++)
        out[j] = result[j];
    run_tape(b, t, given, out);
}

static int is_taped(const block *b)
{
    return b->p->encoder == PI2_LANES_TAPED_QUEUE;
}

static void find_controller(block *b)
{
    lane u[PI2_LANES_STATES];
    run_law(b, &b->p->queue.controller, b->law, NULL, NULL, u);
    LANES b->u[l] = u[0][l];
}

static void find_signals(const block *b, lane *law, const sight *s, lane signal[2])
{
    lane found[PI2_LANES_STATES];
    run_law(b, &b->p->queue.signals, law, s, NULL, found);
    memcpy(signal, found, 2 * sizeof(lane));
}

/* Updates the law of those lanes that tick at node k, and returns when the next one does. */
static int32_t tick_by_tape(block *b, int32_t k, const sight *s)
{
    lane after[PI2_LANES_STATES];
    int32_t next = INT32_MAX;
    run_law(b, &b->p->queue.update, b->law, s, b->interval, after);
    for (int l = 0; l < V; l++) {
        if (b->next_tick[l] == k) {
            for (int j = 0; j < b->p->queue.states; j++)
                b->law[j][l] = after[j][l];
            b->next_tick[l] += (int32_t)b->ticks[l];
        }
        next = b->next_tick[l] < next ? b->next_tick[l] : next;
    }
    return next;
}

static void clip(const block *b, lane *state, lane *clipped)
{
    run_law(b, &b->p->queue.saturate, state, NULL, NULL, clipped);
}

/* The trapezoidal rule, exact in the change of the delay; pushed back from the clips. */
static void flow_by_tape(block *b, const sight *before, const sight *after, const lane growth1)
{
    const pi2_lanes_tape *const flow = &b->p->queue.flow;
    const int n = b->p->queue.states;
    lane first[PI2_LANES_STATES], second[PI2_LANES_STATES], ahead[PI2_LANES_STATES], leaves[PI2_LANES_STATES];
    lane comes[PI2_LANES_STATES], low[PI2_LANES_STATES], high[PI2_LANES_STATES], bottom[PI2_LANES_STATES];
    lane top[PI2_LANES_STATES], mean, leaving, coming;
    LANES {
        mean[l] = (after->delay[l] - before->delay[l]) * b->per_h[l];
        leaving[l] = held(b->queue[l], b->growth[l], b->buffer[l]) / b->capacity[l];
        coming[l] = held(after->queue[l], growth1[l], b->buffer[l]) / b->capacity[l];
    }
    run_law(b, flow, b->law, before, mean, first);
    for (int j = 0; j < n; j++)
        LANES ahead[j][l] = b->law[j][l] + b->h[l] * first[j][l];
    run_law(b, flow, ahead, after, mean, second);
    run_law(b, flow, b->law, before, leaving, leaves);
    run_law(b, flow, ahead, after, coming, comes);
    for (int j = 0; j < n; j++)
        LANES {
            const double turn = excursion(b->h[l] * leaves[j][l], b->h[l] * comes[j][l]);
            bottom[j][l] = b->law[j][l] + lower(turn, 0.0);
            top[j][l] = b->law[j][l] + higher(turn, 0.0);
        }
    clip(b, bottom, low);
    clip(b, top, high);
    for (int j = 0; j < n; j++)
        LANES {
            const double push = (low[j][l] - bottom[j][l]) + (high[j][l] - top[j][l]);
            ahead[j][l] = b->law[j][l] + (0.5 * b->h[l] * (first[j][l] + second[j][l]) + push);
        }
    clip(b, ahead, low);
    for (int j = 0; j < n; j++)
        memcpy(b->law[j], low[j], sizeof b->law[j]);
}

static void drift_by_tape(block *b, const sight *before, const sight *after)
{
    const pi2_lanes_tape *const drift = &b->p->queue.drift;
    lane first[PI2_LANES_STATES], second[PI2_LANES_STATES], ahead[PI2_LANES_STATES];
    run_law(b, drift, b->law, before, NULL, first);
    for (int j = 0; j < b->p->queue.states; j++)
        LANES ahead[j][l] = b->law[j][l] + b->h[l] * first[j][l];
    run_law(b, drift, ahead, after, NULL, second);
    for (int j = 0; j < b->p->queue.states; j++)
        LANES b->law[j][l] += 0.5 * b->h[l] * (first[j][l] + second[j][l]);
}

/* Capacities have changed from `old`: the delays jump, and what follows them. */
static void jump_by_tape(block *b, const lane old)
{
    const pi2_lanes_tape *const flow = &b->p->queue.flow;
    lane delay, step, none, still[PI2_LANES_STATES], moved[PI2_LANES_STATES], jumped[PI2_LANES_STATES];
    const sight s = {delay, b->queue, old, old, b->lost};
    LANES {
        delay[l] = b->queue[l] / old[l];
        step[l] = b->queue[l] / b->capacity[l] - delay[l];
        none[l] = 0.0;
    }
    run_law(b, flow, b->law, &s, none, still);
    run_law(b, flow, b->law, &s, step, moved);
    for (int j = 0; j < b->p->queue.states; j++)
        LANES jumped[j][l] = b->law[j][l] + (moved[j][l] - still[j][l]);
    clip(b, jumped, still);
    for (int j = 0; j < b->p->queue.states; j++)
        memcpy(b->law[j], still[j], sizeof b->law[j]);
    find_controller(b);
}
