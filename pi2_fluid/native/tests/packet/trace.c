/* The trace tells all that entered and left the queues. Replayed, it must be in the order of time, first in, first out
 * in each band or, where flows have queues of their own, of each flow, and no link may idle while packets wait, nor send before it is free. What leaves a link comes to the
 * next in the same order, no sooner than the way takes, and bears the mark it bore. */
#include <stdio.h>
#include <stdlib.h>

#include "packet/run/run.h"
#include "tests/packet/checks.h"

/* Rows of packets that are somewhere, in the order in which they came. */
typedef struct {
    int64_t head, end, before; /* -1: none; the one before `end`, while it is known */
} fifo;

typedef struct {
    fifo band[2];
    int64_t count;         /* of packets in both */
    int64_t waiting_since; /* ns: the queue has not been empty since then */
    int64_t free_from;     /* ns: when the link may send next */
    int steady;            /* its capacity never changes, and packets enter service one by one from the queue */
} queue;

typedef struct {
    const pi2_run *run;
    queue *queues;  /* of each link */
    fifo *ways;     /* of each leg: what entered service and has not come to the next link */
    int64_t *after; /* of each row that of the packet behind it, -1: there is none */
} replay;

static int wrong(const replay *r, int64_t row, const char *what)
{
    const pi2_trace_row *t = r->run->trace + row;
    printf("trace row %lld, at %lld ns, link %d, flow %u, segment %u: %s\n", (long long)row, (long long)t->time, t->link,
           t->flow, t->segment, what);
    return 0;
}

static void append(const replay *r, fifo *f, int64_t row)
{
    r->after[row] = -1;
    if (f->head < 0)
        f->head = row;
    else
        r->after[f->end] = row;
    f->before = f->end;
    f->end = row;
}

static void remove_head(const replay *r, fifo *f)
{
    f->head = r->after[f->head];
}

/* The row that was appended last. */
static void remove_end(const replay *r, fifo *f)
{
    if (f->head == f->end)
        f->head = -1;
    else
        r->after[f->before] = -1;
    f->end = f->before;
}

/* Takes out the first row, of a flow if each has a queue of its own; -1: there is none. */
static int64_t remove_first(const replay *r, fifo *f, const pi2_trace_row *of)
{
    const int any = !r->run->hops[of->link].qdisc->waiting;
    int64_t row = f->head, last = -1, before = -1;
    while (!any && row >= 0 && r->run->trace[row].flow != of->flow) {
        before = last;
        last = row;
        row = r->after[row];
    }
    if (row < 0)
        return -1;
    if (row == f->head) {
        remove_head(r, f);
        return row;
    }
    r->after[last] = r->after[row];
    if (row == f->end) {
        f->end = last;
        f->before = before;
    } else if (row == f->before) {
        f->before = last;
    }
    return row;
}

static int same(const pi2_trace_row *a, const pi2_trace_row *b)
{
    return a->flow == b->flow && a->segment == b->segment && a->bytes == b->bytes;
}

/* The packet of this row is the head of its band: takes it. */
static int leaves(replay *r, int64_t row)
{
    const pi2_trace_row *trace = r->run->trace, *t = trace + row;
    queue *q = r->queues + t->link;
    fifo *f = q->band + t->band;
    const int64_t first = remove_first(r, f, t);
    if (first < 0 || !same(trace + first, t) || t->time - trace[first].time != t->waited)
        return wrong(r, row, "it is not the first of its band or flow, or waited another time");
    q->count--;
    return 1;
}

/* When a packet may go that leaves at `now` after others, and when the next one may. */
static int served(replay *r, int64_t row)
{
    const pi2_run *run = r->run;
    const pi2_trace_row *t = run->trace + row;
    const pi2_hop *hop = run->hops + t->link;
    queue *q = r->queues + t->link;
    const int64_t full = pi2_slot_of(hop, run->scenario.packet_size), slot = pi2_slot_of(hop, t->bytes);
    if (t->time < q->free_from)
        return wrong(r, row, "the link is not free yet");
    if (t->time > q->waiting_since && t->time > q->free_from)
        return wrong(r, row, "the link was idle while packets waited");
    if (hop->kind == PI2_LINK_HTB)
        q->free_from = (q->free_from > t->time - full ? q->free_from : t->time - full) + slot;
    else
        q->free_from = t->time + slot;
    return 1;
}

/* The leg of the class of this row's flow at its link. */
static uint32_t leg_of(const replay *r, int64_t row)
{
    const pi2_run *run = r->run;
    const pi2_trace_row *t = run->trace + row;
    uint32_t leg = run->classes[run->flows[t->flow].class_].leg;
    while (run->legs[leg].hop->number != t->link)
        leg++;
    return leg;
}

/* A packet comes from the link before, if there is one. */
static int came(replay *r, int64_t row)
{
    const pi2_run *run = r->run;
    const pi2_trace_row *t = run->trace + row, *from;
    const uint32_t leg = leg_of(r, row);
    const pi2_leg *before = run->legs + leg - 1;
    int64_t way;
    if (run->legs[leg].first)
        return 1;
    if (r->ways[leg - 1].head < 0)
        return wrong(r, row, "it comes from nowhere");
    from = run->trace + r->ways[leg - 1].head;
    if (!same(from, t) || from->ecn != t->ecn)
        return wrong(r, row, "it is not the one that left the link before, or is marked otherwise");
    way = run->data.pipes[before->pipe].delay + (before->hop->kind == PI2_LINK_WIRE && r->queues[before->hop->number].steady
                               ? pi2_slot_of(before->hop, t->bytes)
                               : 0);
    if (t->time < from->time + way)
        return wrong(r, row, "it comes too soon");
    remove_head(r, r->ways + leg - 1);
    return 1;
}

static int replayed(replay *r, int64_t row)
{
    const pi2_trace_row *t = r->run->trace + row;
    queue *q = r->queues + t->link;
    if (row && t->time < t[-1].time)
        return wrong(r, row, "time went back");
    if (t->what == PI2_TRACE_ENQUEUE && t->band != (r->run->hops[t->link].queue.bands == 2 && t->ecn & PI2_ECT1))
        return wrong(r, row, "it is in the other band");
    switch (t->what) {
    case PI2_TRACE_ENQUEUE:
        if (!came(r, row))
            return 0;
        if (!q->count++)
            q->waiting_since = t->time;
        append(r, q->band + t->band, row);
        return 1;
    case PI2_TRACE_DROP:
        if (!row || t[-1].what != PI2_TRACE_ENQUEUE || !same(t - 1, t) || t->time > t[-1].time || t->waited > 0)
            return leaves(r, row);
        remove_end(r, q->band + t->band); /* lost on arrival */
        q->count--;
        return 1;
    case PI2_TRACE_DEQUEUE:
        if (q->steady && !served(r, row))
            return 0;
        append(r, r->ways + leg_of(r, row), row);
        return leaves(r, row);
    default:
        return t->ecn == PI2_CE || wrong(r, row, "it bears no mark");
    }
}

static int complete(const replay *r)
{
    const pi2_run *run = r->run;
    if (run->traced == run->scenario.trace)
        return 1;
    for (uint32_t i = 0; i < run->hop_count; i++)
        if (pi2_queue_packets(&run->hops[i].queue) != r->queues[i].count) {
            printf("link %u holds %lld packets, but by the trace %lld\n", i,
                   (long long)pi2_queue_packets(&run->hops[i].queue), (long long)r->queues[i].count);
            return 0;
        }
    return 1;
}

static void begin(replay *r, const pi2_test_scenario *s)
{
    const pi2_run *run = r->run;
    const fifo empty = {-1, -1, -1};
    for (uint32_t i = 0; i < run->leg_count; i++)
        r->ways[i] = empty;
    for (uint32_t i = 0; i < run->hop_count; i++) {
        r->queues[i] = (queue){.band = {empty, empty}, .free_from = INT64_MIN / 2,
                               .steady = run->hops[i].kind <= PI2_LINK_HTB};
        if (run->hops[i].kind == PI2_LINK_HTB)
            r->queues[i].free_from = 0; /* it begins without a slot in store */
    }
    for (int i = 0; i < s->problem.change_count; i++)
        if (s->problem.changes[i].capacity >= 0.0)
            r->queues[s->problem.changes[i].link].steady = 0;
}

int pi2_check_trace(const pi2_test_scenario *s, const pi2_run *run)
{
    replay r = {.run = run};
    int good;
    r.queues = malloc(run->hop_count * sizeof *r.queues);
    r.ways = malloc(run->leg_count * sizeof *r.ways);
    r.after = malloc(((size_t)run->traced + 1) * sizeof *r.after);
    good = r.queues && r.ways && r.after;
    if (good)
        begin(&r, s);
    for (int64_t row = 0; good && row < run->traced; row++)
        good = replayed(&r, row);
    good = good && complete(&r);
    free(r.queues);
    free(r.ways);
    free(r.after);
    return good;
}
