/* The door, and the loop of events. Everything that can happen next has one time, and the earliest is done; there is
 * no common list of events to keep in order. */
#include "packet/simulator.h"

#include <stdlib.h>
#include <string.h>

#include "packet/core/bits.h"
#include "packet/core/pages.h"
#include "packet/run/link.h"
#include "packet/run/paths.h"
#include "packet/run/statistics.h"
#include "packet/run/streams.h"
#include "packet/run/transfers.h"
#include "packet/schedule.h"
#include "packet/source.h"
#include "packet/tcp/ends/receiver.h"
#include "packet/tcp/ends/sender.h"
#include "packet/tcp/ends/timeout.h"

/* Bytes of a line of memory; flows that are more than caches hold; acknowledgements that are called for ahead. */
enum { LINE = 64, CROWD = 2000, SOON = 8 };

static void dropped(void *context, const pi2_packet *packet, int64_t now, int cause)
{
    pi2_trace_event(context, packet, PI2_TRACE_DROP, cause, now);
    if (packet->flags & PI2_RETURNING)
        pi2_link_forget_ack(context, packet->segment);
}

/* Whether acknowledgements cross links. */
static int some_return(const pi2_packet_scenario *s)
{
    for (int i = 0; i < s->class_count; i++)
        if (s->classes[i].back_length)
            return 1;
    return 0;
}

static void marked(void *context, const pi2_packet *packet, int cause)
{
    pi2_run *run = context;
    pi2_trace_event(run, packet, PI2_TRACE_MARK, cause, run->now);
}

/* Of what is set up, 0 if there is no memory. */

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
    return pi2_schedule_new(run, s) && pi2_transfers_new(run) && pi2_paths_new(run, s);
}

static int set_up_flows(pi2_run *run)
{
    run->flow_memory = calloc((size_t)run->flow_count + 2, sizeof *run->flows);
    if (!run->flow_memory)
        return 0;
    pi2_large_pages(run->flow_memory, ((size_t)run->flow_count + 2) * sizeof *run->flows);
    run->flows = (pi2_flow *)(((uintptr_t)run->flow_memory + LINE - 1) / LINE * LINE);
    if (!pi2_timers_new(&run->timers, run->flows->timers, sizeof *run->flows, run->flow_count))
        return 0;
    run->crowded = run->flow_count > CROWD;
    for (int i = 0; i < run->scenario.class_count; i++)
        for (uint32_t j = 0; j < run->classes[i].most; j++)
            run->flows[run->classes[i].first + j].class_ = (uint16_t)i;
    return 1;
}

static int set_up_hops(pi2_run *run, const pi2_packet_scenario *s, int *refused)
{
    const int traced = s->trace > 0, told = traced || some_return(s);
    for (uint32_t i = 0; i < run->hop_count; i++) {
        pi2_hop *hop = run->hops + i;
        hop->queue.dropped = told ? dropped : NULL;
        hop->queue.marked = traced ? marked : NULL;
        hop->queue.context = run;
        hop->queue.no_memory = &run->no_memory;
        if (!pi2_hop_new(hop, s, i, run->counts, refused)) {
            *refused *= (int)i + 1;
            return 0;
        }
        pi2_winners_set(&run->ticks, i, hop->tick);
        run->late[i].below = s->links[i].ack_jitter > 0 ? (uint64_t)s->links[i].ack_jitter + 1 : 0;
        run->late[i].key = pi2_stream_key(s->seed, pi2_link_stream(i, PI2_STREAM_ACK_JITTER));
    }
    return 1;
}

static int count_hops(pi2_run *run, const pi2_packet_scenario *s)
{
    run->hop_count = (uint32_t)s->link_count;
    run->hops = calloc(run->hop_count, sizeof *run->hops);
    run->late = calloc(run->hop_count, sizeof *run->late);
    for (int i = 0; i < s->link_count; i++)
        run->band_count += (uint32_t)s->links[i].qdisc->bands;
    return run->hops && run->late && pi2_winners_new(&run->ticks, run->hop_count) && pi2_winners_new(&run->links, run->hop_count);
}

/* What comes at times known beforehand. */
static void plan(pi2_run *run)
{
    run->planned = run->bin_end < run->step_due ? run->bin_end : run->step_due;
    if (run->ticks.due < run->planned)
        run->planned = run->ticks.due;
    if (run->start_due < run->planned)
        run->planned = run->start_due;
}

pi2_run *pi2_run_new(const pi2_packet_scenario *scenario, int *refused)
{
    pi2_run *run = calloc(1, sizeof *run);
    *refused = 0;
    if (!run)
        return NULL;
    run->scenario = *scenario;
    run->bins = (scenario->duration + scenario->bin - 1) / scenario->bin;
    run->bin_end = scenario->bin < scenario->duration ? scenario->bin : scenario->duration;
    if (!count_hops(run, scenario) || !set_up_classes(run, scenario) || !set_up_flows(run)
        || !pi2_statistics_new(run) || !set_up_hops(run, scenario, refused)) {
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
    for (uint32_t i = 0; run->hops && i < run->hop_count; i++)
        pi2_hop_free(run->hops + i);
    pi2_winners_free(&run->ticks);
    pi2_winners_free(&run->links);
    pi2_paths_free(run);
    pi2_timers_free(&run->timers);
    pi2_statistics_free(run);
    pi2_schedule_free(run);
    pi2_transfers_free(run);
    free(run->flow_memory);
    free(run->hops);
    free(run->late);
    free(run->returning);
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
        pi2_source_send(run, f, now);
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
    pi2_packet packet = *(const pi2_packet *)pi2_pipes_take(&run->data);
    pi2_link_arrive(run, &packet, now);
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

static void tick(pi2_run *run, int64_t now)
{
    pi2_hop *hop = run->hops + pi2_winners_first(&run->ticks);
    pi2_hop_tick(hop, now);
    pi2_winners_set(&run->ticks, hop->number, hop->tick);
}

/* Of several at once, in this order. */
static void act_planned(pi2_run *run, int64_t now)
{
    if (run->bin_end == now)
        pi2_end_bin(run, now);
    else if (run->step_due == now)
        pi2_schedule_step(run, now);
    else if (run->ticks.due == now)
        tick(run, now);
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
        if (run->links.due < t)
            t = run->links.due, what = LINK;
        if (pi2_pipes_due(&run->data) < t)
            t = pi2_pipes_due(&run->data), what = DATA;
        if (pi2_pipes_due(&run->acks) < t)
            t = pi2_pipes_due(&run->acks), what = ACK;
        if (run->timers.due < t)
            t = run->timers.due, what = TIMER;
        if (what != TIMER)
            run->now = t;
        run->events++;
        if (what == LINK) {
            pi2_link_act(run, run->hops + pi2_winners_first(&run->links), t);
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
        if (run->no_memory || run->timers.no_memory)
            return PI2_RUN_NO_MEMORY;
    }
    return PI2_RUN_MORE;
}

int64_t pi2_run_time(const pi2_run *run)
{
    return run->now;
}

static void count_band(const pi2_run *run, const pi2_band *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        run->leg_totals[(size_t)b->ring[(b->head + i) & b->mask].leg * PI2_LEG_TOTALS + PI2_TOTAL_QUEUED]++;
}

static void count_queued(const pi2_run *run, const pi2_hop *hop)
{
    const pi2_band *b;
    const int together = hop->kind == PI2_LINK_TOGETHER;
    const pi2_packet *served = together ? hop->together.packets : &hop->in_service;
    for (uint32_t i = 0; hop->busy && i < (together ? hop->together.count : 1); i++)
        run->leg_totals[(size_t)served[i].leg * PI2_LEG_TOTALS + PI2_TOTAL_QUEUED]++;
    for (uint32_t n = 0; (b = pi2_waiting(hop->qdisc, hop->discipline, &hop->queue, n)); n++)
        count_band(run, b);
    count_band(run, &hop->ring.held);
}

static void fill_totals(const pi2_run *run)
{
    for (size_t i = 0; i < run->leg_count; i++) {
        int64_t *totals = run->leg_totals + i * PI2_LEG_TOTALS;
        memcpy(totals, run->counts + i * PI2_CAUSES, PI2_CAUSES * sizeof *totals);
        totals[PI2_TOTAL_QUEUED] = 0;
        totals[PI2_TOTAL_IN_FLIGHT] = run->legs[i].in_flight;
    }
    for (int i = 0; i < run->scenario.class_count; i++) {
        int64_t *totals = run->class_totals + (size_t)i * PI2_CLASS_TOTALS;
        totals[PI2_TOTAL_RETRANSMISSIONS] = run->classes[i].retransmissions;
        totals[PI2_TOTAL_TIMEOUTS] = run->classes[i].timeouts;
        totals[PI2_TOTAL_TURNED_AWAY] = run->classes[i].turned_away;
    }
    for (uint32_t i = 0; i < run->hop_count; i++)
        count_queued(run, run->hops + i);
}

void pi2_run_outcome(const pi2_run *run, pi2_packet_outcome *outcome)
{
    fill_totals(run);
    *outcome = (pi2_packet_outcome){
        .links = (int)run->hop_count,
        .bands = (int)run->band_count,
        .legs = (int)run->leg_count,
        .classes = run->scenario.class_count,
        .blocks = run->blocks,
        .bins = run->bins,
        .block = run->per_block,
        .flows = run->flow_count,
        .bin_rows = run->bin_rows,
        .band_rows = run->band_rows,
        .leg_rows = run->leg_rows,
        .class_rows = run->class_rows,
        .delays = run->delays,
        .delivered = run->delivered,
        .leg_totals = run->leg_totals,
        .class_totals = run->class_totals,
        .transfers = run->transfers,
        .transferred = run->transferred,
        .trace = run->trace,
        .traced = run->traced,
        .events = run->events,
        .packets = run->packets,
    };
}
