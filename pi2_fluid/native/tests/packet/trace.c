/* The trace tells all that entered and left the queue. Replayed, it must be in the order of time, first in, first out
 * in each band, and the link must not idle while packets wait, nor send before it is free. */
#include <stdio.h>
#include <stdlib.h>

#include "packet/run/run.h"
#include "tests/packet/checks.h"

/* A band: the rows of the packets in it. */
typedef struct {
    int64_t *rows;
    int64_t head, end;
} fifo;

typedef struct {
    const pi2_run *run;
    fifo band[2];
    int64_t waiting_since; /* ns: the queue has not been empty since then */
    int64_t free_from;     /* ns: when the link may send next */
} replay;

static int wrong(const replay *r, int64_t row, const char *what)
{
    const pi2_trace_row *t = r->run->trace + row;
    printf("trace row %lld, at %lld ns, flow %u, segment %u: %s\n", (long long)row, (long long)t->time, t->flow,
           t->segment, what);
    return 0;
}

static int64_t waiting(const replay *r)
{
    return r->band[0].end - r->band[0].head + r->band[1].end - r->band[1].head;
}

static int same(const pi2_trace_row *a, const pi2_trace_row *b)
{
    return a->flow == b->flow && a->segment == b->segment && a->bytes == b->bytes;
}

/* The packet of this row is the head of its band: takes it. */
static int leaves(replay *r, int64_t row)
{
    const pi2_trace_row *trace = r->run->trace, *t = trace + row;
    fifo *f = r->band + t->band;
    const pi2_trace_row *head = trace + f->rows[f->head];
    if (f->head == f->end || !same(head, t) || t->time - head->time != t->waited)
        return wrong(r, row, "it is not the first of its band, or waited another time");
    f->head++;
    return 1;
}

/* When a packet may go that leaves at `now` after others, and when the next one may. */
static int served(replay *r, int64_t row)
{
    const pi2_run *run = r->run;
    const pi2_trace_row *t = run->trace + row;
    const int64_t full = pi2_slot_of(&run->hop, run->scenario.packet_size), slot = pi2_slot_of(&run->hop, t->bytes);
    if (t->time < r->free_from)
        return wrong(r, row, "the link is not free yet");
    if (t->time > r->waiting_since && t->time > r->free_from)
        return wrong(r, row, "the link was idle while packets waited");
    if (run->scenario.kind == PI2_LINK_HTB)
        r->free_from = (r->free_from > t->time - full ? r->free_from : t->time - full) + slot;
    else
        r->free_from = t->time + slot;
    return 1;
}

static int replayed(replay *r, int64_t row, int steady)
{
    const pi2_trace_row *t = r->run->trace + row;
    fifo *f = r->band + t->band;
    if (row && t->time < t[-1].time)
        return wrong(r, row, "time went back");
    if (t->what == PI2_TRACE_ENQUEUE && t->band != (r->run->hop.queue.bands == 2 && t->ecn & PI2_ECT1))
        return wrong(r, row, "it is in the other band");
    switch (t->what) {
    case PI2_TRACE_ENQUEUE:
        if (!waiting(r))
            r->waiting_since = t->time;
        f->rows[f->end++] = row;
        return 1;
    case PI2_TRACE_DROP:
        if (!row || t[-1].what != PI2_TRACE_ENQUEUE || !same(t - 1, t) || t->time > t[-1].time || t->waited > 0)
            return leaves(r, row);
        f->end--; /* lost on arrival */
        return 1;
    case PI2_TRACE_DEQUEUE:
        if (steady && !served(r, row))
            return 0;
        return leaves(r, row);
    default:
        return t->ecn == PI2_CE || wrong(r, row, "it bears no mark");
    }
}

static int complete(const replay *r)
{
    int64_t in_band[2] = {r->run->hop.queue.band[0].count, r->run->hop.queue.band[1].count};
    if (r->run->traced == r->run->scenario.trace)
        return 1;
    for (int band = 0; band < 2; band++)
        if (r->band[band].end - r->band[band].head != in_band[band]) {
            printf("band %d holds %lld packets, but by the trace %lld\n", band, (long long)in_band[band],
                   (long long)(r->band[band].end - r->band[band].head));
            return 0;
        }
    return 1;
}

int pi2_check_trace(const pi2_test_scenario *s, const pi2_run *run)
{
    replay r = {.run = run, .free_from = INT64_MIN / 2};
    int steady = 1, good = 1;
    for (int i = 0; i < s->problem.change_count; i++)
        steady &= s->problem.changes[i].capacity <= 0.0;
    if (run->scenario.kind == PI2_LINK_HTB)
        r.free_from = 0; /* it begins without a slot in store */
    for (int band = 0; band < 2; band++) {
        r.band[band].rows = calloc((size_t)run->traced + 1, sizeof *r.band[band].rows);
        good &= r.band[band].rows != NULL;
    }
    for (int64_t row = 0; good && row < run->traced; row++)
        good = replayed(&r, row, steady);
    good = good && complete(&r);
    free(r.band[0].rows);
    free(r.band[1].rows);
    return good;
}
