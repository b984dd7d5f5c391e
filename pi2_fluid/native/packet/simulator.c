/* The door, and the loop of events. Everything that can happen next has one time, and the earliest is done; there is
 * no common list of events to keep in order. */
#include "packet/simulator.h"

#include <stdlib.h>
#include <string.h>

#include "packet/core/bits.h"
#include "packet/run/link.h"
#include "packet/run/statistics.h"
#include "packet/run/streams.h"
#include "packet/schedule.h"
#include "packet/tcp/ends/receiver.h"
#include "packet/tcp/ends/sender.h"
#include "packet/tcp/ends/timeout.h"

/* Bytes of a line of memory; flows that are more than caches hold; acknowledgements that are called for ahead. */
enum { LINE = 64, CROWD = 2000, SOON = 8 };

static void dropped(void *context, const pi2_packet *packet, int64_t now, int cause)
{
    pi2_trace_event(context, packet, PI2_TRACE_DROP, cause, now);
}

static void marked(void *context, const pi2_packet *packet, int cause)
{
    pi2_run *run = context;
    pi2_trace_event(run, packet, PI2_TRACE_MARK, cause, run->now);
}

/* 0 if there is no memory. */
static int find_pipes(pi2_run *run)
{
    const int where = run->scenario.delay_on;
    for (int i = 0; i < run->scenario.class_count; i++) {
        pi2_class *class_ = run->classes + i;
        const int64_t rtt = class_->spec->base_rtt;
        const int64_t forward = where == PI2_DELAY_FORWARD ? rtt : where == PI2_DELAY_SPLIT ? rtt / 2 : 0;
        class_->forward = pi2_pipes_find(&run->data, forward);
        class_->back = pi2_pipes_find(&run->acks, rtt - forward);
        if (class_->forward == PI2_NO_PIPE || class_->back == PI2_NO_PIPE)
            return 0;
    }
    return 1;
}

static int set_up_classes(pi2_run *run, const pi2_packet_scenario *s)
{
    const size_t count = (size_t)s->class_count;
    run->specs = malloc(count * sizeof *run->specs);
    run->classes = calloc(count, sizeof *run->classes);
    if (!run->specs || !run->classes)
        return 0;
    memcpy(run->specs, s->classes, count * sizeof *run->specs);
    for (size_t i = 0; i < count; i++) {
        const pi2_congestion *cc = run->specs[i].congestion;
        run->classes[i].spec = run->specs + i;
        run->classes[i].exact_ce = cc && cc->flags & PI2_CC_EXACT_CE;
        run->classes[i].reacts = cc && !(cc->flags & PI2_CC_NO_REDUCTION);
    }
    return pi2_schedule_new(run, s);
}

static int set_up_flows(pi2_run *run)
{
    run->flow_memory = calloc((size_t)run->flow_count + 2, sizeof *run->flows);
    if (!run->flow_memory)
        return 0;
    run->flows = (pi2_flow *)(((uintptr_t)run->flow_memory + LINE - 1) / LINE * LINE);
    if (!pi2_timers_new(&run->timers, run->flows->timers, sizeof *run->flows, run->flow_count))
        return 0;
    run->crowded = run->flow_count > CROWD;
    for (int i = 0; i < run->scenario.class_count; i++)
        for (uint32_t j = 0; j < run->classes[i].most; j++)
            run->flows[run->classes[i].first + j].class_ = (uint16_t)i;
    return 1;
}

static int set_up_hop(pi2_run *run, int *refused)
{
    const int traced = run->scenario.trace > 0;
    run->hop.queue.dropped = traced ? dropped : NULL;
    run->hop.queue.marked = traced ? marked : NULL;
    run->hop.queue.context = run;
    return pi2_hop_new(&run->hop, &run->scenario, run->counts, refused);
}

/* What comes at times known beforehand. */
static void plan(pi2_run *run)
{
    run->planned = run->bin_end < run->step_due ? run->bin_end : run->step_due;
    if (run->hop.tick < run->planned)
        run->planned = run->hop.tick;
    if (run->start_due < run->planned)
        run->planned = run->start_due;
}

/* Bins that are counted together, so that there are no more blocks than memory allows. */
static int64_t bins_of_a_block(int64_t bins, int classes)
{
    const int64_t room = PI2_MOST_BUCKETS / ((int64_t)classes * PI2_DELAY_BUCKETS);
    const int64_t blocks = room < 1 ? 1 : room < PI2_MOST_BLOCKS ? room : PI2_MOST_BLOCKS;
    return (bins + blocks - 1) / blocks;
}

pi2_run *pi2_run_new(const pi2_packet_scenario *scenario, int *refused)
{
    pi2_run *run = calloc(1, sizeof *run);
    *refused = 0;
    if (!run)
        return NULL;
    run->scenario = *scenario;
    run->bins = (scenario->duration + scenario->bin - 1) / scenario->bin;
    run->per_block = bins_of_a_block(run->bins, scenario->class_count);
    run->blocks = (int)((run->bins + run->per_block - 1) / run->per_block);
    run->bin_end = scenario->bin < scenario->duration ? scenario->bin : scenario->duration;
    run->jitter_key = pi2_stream_key(scenario->seed, PI2_STREAM_ACK_JITTER);
    run->jitter = scenario->ack_jitter > 0 ? (uint64_t)scenario->ack_jitter + 1 : 0;
    if (!set_up_classes(run, scenario) || !pi2_pipes_new(&run->acks, (uint32_t)scenario->class_count, sizeof(pi2_ack))
        || !pi2_pipes_new(&run->data, (uint32_t)scenario->class_count, sizeof(pi2_packet)) || !set_up_flows(run)
        || !pi2_statistics_new(run) || !set_up_hop(run, refused) || !find_pipes(run)) {
        pi2_run_free(run);
        return NULL;
    }
    plan(run);
    return run;
}

void pi2_run_free(pi2_run *run)
{
    if (!run)
        return;
    for (uint32_t i = 0; run->flows && i < run->flow_count; i++)
        pi2_flow_free(run->flows + i);
    pi2_hop_free(&run->hop);
    pi2_pipes_free(&run->acks);
    pi2_pipes_free(&run->data);
    pi2_timers_free(&run->timers);
    pi2_statistics_free(run);
    pi2_schedule_free(run);
    free(run->flow_memory);
    free(run->classes);
    free(run->specs);
    free(run);
}

static void act_timer(pi2_run *run, int64_t now)
{
    const uint32_t number = pi2_timers_take(&run->timers, now);
    pi2_flow *f;
    if (number == PI2_NO_TIMER) /* a slot was opened, perhaps one that begins before now: nothing happened */
        return;
    run->now = now;
    f = run->flows + number / PI2_TIMERS_EACH;
    if (!pi2_class_of(run, f)->spec->congestion)
        pi2_cbr_send(run, f, now);
    else if (number % PI2_TIMERS_EACH == PI2_SENDER_TIMER)
        pi2_sender_timer(run, f, now);
    else if (number % PI2_TIMERS_EACH == PI2_DELAYED_ACK_TIMER)
        pi2_delayed_ack(run, f, now);
    else if (number % PI2_TIMERS_EACH == PI2_PACING_TIMER)
        pi2_on_pace(run, f, now);
    else
        pi2_acknowledge(run, f, now);
}

static void act_data(pi2_run *run, int64_t now)
{
    const pi2_packet packet = *(const pi2_packet *)pi2_pipes_take(&run->data);
    run->classes[packet.class_].in_flight--;
    pi2_deliver(run, &packet, now);
}

/* What an acknowledgement touches of its flow, called for while others are handled. */
static void call_for_sender(const pi2_run *run)
{
    const pi2_ack *soon = pi2_pipes_ahead(&run->acks, SOON);
    if (soon)
        for (size_t line = 0; line < offsetof(pi2_flow, expected); line += LINE)
            pi2_prefetch((const char *)(run->flows + soon->flow) + line);
}

static void act_ack(pi2_run *run, int64_t now)
{
    const pi2_ack ack = *(const pi2_ack *)pi2_pipes_take(&run->acks);
    if (run->crowded)
        call_for_sender(run);
    pi2_on_ack(run, run->flows + ack.flow, &ack, now);
}

/* Of several at once, in this order. */
static void act_planned(pi2_run *run, int64_t now)
{
    if (run->bin_end == now)
        pi2_end_bin(run, now);
    else if (run->step_due == now)
        pi2_schedule_step(run, now);
    else if (run->hop.tick == now)
        pi2_hop_tick(&run->hop, now);
    else
        pi2_schedule_start(run, now);
    plan(run);
}

/* What can happen next, in the order in which it happens if it happens at once. */
enum { PLANNED, LINK, DATA, ACK, TIMER };

int pi2_run_advance(pi2_run *run, int64_t events)
{
    for (; events > 0; events--) {
        int64_t t = run->planned;
        int what = PLANNED;
        if (run->hop.due < t)
            t = run->hop.due, what = LINK;
        if (run->data.due < t)
            t = run->data.due, what = DATA;
        if (run->acks.due < t)
            t = run->acks.due, what = ACK;
        if (run->timers.due < t)
            t = run->timers.due, what = TIMER;
        if (what != TIMER)
            run->now = t;
        run->events++;
        if (what == LINK) {
            pi2_link_act(run, t);
        } else if (what == ACK) {
            act_ack(run, t);
        } else if (what == TIMER) {
            act_timer(run, t);
        } else if (what == DATA) {
            act_data(run, t);
        } else {
            act_planned(run, t);
            if (run->bin == run->bins)
                return PI2_RUN_DONE;
        }
        if (run->no_memory || run->hop.queue.no_memory || run->timers.no_memory)
            return PI2_RUN_NO_MEMORY;
    }
    return PI2_RUN_MORE;
}

int64_t pi2_run_time(const pi2_run *run)
{
    return run->now;
}

static void fill_totals(const pi2_run *run)
{
    const int classes = run->scenario.class_count;
    for (int i = 0; i < classes; i++) {
        int64_t *totals = run->totals + (size_t)i * PI2_TOTALS;
        memcpy(totals, run->counts + (size_t)i * PI2_CAUSES, PI2_CAUSES * sizeof *totals);
        totals[PI2_TOTAL_QUEUED] = run->hop.busy && run->hop.in_service.class_ == i;
        totals[PI2_TOTAL_IN_FLIGHT] = run->classes[i].in_flight;
        totals[PI2_TOTAL_RETRANSMISSIONS] = run->classes[i].retransmissions;
        totals[PI2_TOTAL_TIMEOUTS] = run->classes[i].timeouts;
    }
    for (int band = 0; band < run->hop.queue.bands; band++) {
        const pi2_band *b = run->hop.queue.band + band;
        for (uint32_t i = 0; i < b->count; i++)
            run->totals[(size_t)b->ring[(b->head + i) & b->mask].class_ * PI2_TOTALS + PI2_TOTAL_QUEUED]++;
    }
}

void pi2_run_outcome(const pi2_run *run, pi2_packet_outcome *outcome)
{
    fill_totals(run);
    *outcome = (pi2_packet_outcome){
        .bands = run->hop.queue.bands,
        .classes = run->scenario.class_count,
        .blocks = run->blocks,
        .bins = run->bins,
        .block = run->per_block,
        .flows = run->flow_count,
        .bin_rows = run->bin_rows,
        .band_rows = run->band_rows,
        .class_rows = run->class_rows,
        .delays = run->delays,
        .delivered = run->delivered,
        .totals = run->totals,
        .trace = run->trace,
        .traced = run->traced,
        .events = run->events,
        .packets = run->packets,
    };
}
