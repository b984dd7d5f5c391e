/* What is counted: rows for each bin, delays by block, totals, and a trace if one is wanted. */
#include "packet/run/statistics.h"

#include <stdlib.h>
#include <string.h>

#include "packet/core/bits.h"

/* Gives the block in which the next bin lies so many buckets, and what it has counted in those that it had. Returns 0 if
 * there is no memory: then it has what it had. */
static int give_buckets(pi2_run *run, uint32_t buckets)
{
    pi2_delays *of = run->delays + run->bin / run->per_block;
    uint32_t *counts = calloc((size_t)run->leg_count * buckets, sizeof *counts);
    if (!counts)
        return 0;
    for (size_t i = 0; i < run->leg_count; i++) {
        run->legs[i].delays = counts + i * buckets;
        if (of->counts)
            memcpy(run->legs[i].delays, of->counts + i * of->buckets, of->buckets * sizeof *counts);
    }
    free(of->counts);
    *of = (pi2_delays){counts, buckets};
    run->buckets = buckets;
    return 1;
}

/* A longer delay than any so far. */
static PI2_APART int reach_bucket(pi2_run *run, unsigned bucket)
{
    if (give_buckets(run, (bucket / PI2_DELAY_OCTAVE + 1) * PI2_DELAY_OCTAVE))
        return 1;
    run->no_memory = 1;
    return 0;
}

/* Bins that are counted together, so that there are no more blocks than memory allows. */
static int64_t bins_of_a_block(int64_t bins, uint32_t legs)
{
    const int64_t room = PI2_MOST_BUCKETS / ((int64_t)legs * PI2_DELAY_BUCKETS);
    const int64_t blocks = room < 1 ? 1 : room < PI2_MOST_BLOCKS ? room : PI2_MOST_BLOCKS;
    return (bins + blocks - 1) / blocks;
}

int pi2_statistics_new(pi2_run *run)
{
    const pi2_packet_scenario *s = &run->scenario;
    run->per_block = bins_of_a_block(run->bins, run->leg_count);
    run->blocks = (int)((run->bins + run->per_block - 1) / run->per_block);
    const size_t bins = (size_t)run->bins, classes = (size_t)s->class_count, legs = run->leg_count;
    run->bin_rows = calloc(bins * run->hop_count * PI2_BIN_COLUMNS, sizeof *run->bin_rows);
    run->band_rows = calloc(bins * run->band_count * PI2_BAND_COLUMNS, sizeof *run->band_rows);
    run->leg_rows = calloc(bins * legs * PI2_LEG_COLUMNS, sizeof *run->leg_rows);
    run->class_rows = calloc(bins * classes * PI2_CLASS_COLUMNS, sizeof *run->class_rows);
    run->delays = calloc((size_t)run->blocks, sizeof *run->delays);
    run->delivered = calloc((size_t)run->blocks * run->flow_count + 1, sizeof *run->delivered);
    run->leg_totals = calloc(legs * PI2_LEG_TOTALS, sizeof *run->leg_totals);
    run->class_totals = calloc(classes * PI2_CLASS_TOTALS, sizeof *run->class_totals);
    run->counts = calloc(legs * PI2_CAUSES, sizeof *run->counts);
    run->trace = s->trace > 0 ? malloc((size_t)s->trace * sizeof *run->trace) : NULL;
    if (!run->bin_rows || !run->band_rows || !run->leg_rows || !run->class_rows || !run->delays || !run->delivered
        || !run->leg_totals || !run->class_totals || !run->counts || (s->trace > 0 && !run->trace))
        return 0;
    return give_buckets(run, PI2_DELAY_OCTAVE);
}

void pi2_statistics_free(pi2_run *run)
{
    free(run->bin_rows);
    free(run->band_rows);
    free(run->leg_rows);
    free(run->class_rows);
    for (int i = 0; run->delays && i < run->blocks; i++)
        free(run->delays[i].counts);
    free(run->delays);
    free(run->delivered);
    free(run->leg_totals);
    free(run->class_totals);
    free(run->counts);
    free(run->trace);
}

/* Up to the most that 32 bits hold. */
static void count_up(uint32_t *counter)
{
    *counter += *counter != UINT32_MAX;
}

void pi2_departed(pi2_run *run, const pi2_packet *packet, int64_t now)
{
    const int64_t waited = now - packet->enqueued;
    const unsigned bucket = pi2_delay_bucket(waited);
    pi2_leg *leg = run->legs + packet->leg;
    leg->departures++;
    leg->sojourn += (double)waited;
    if (bucket < run->buckets || reach_bucket(run, bucket))
        count_up(leg->delays + bucket);
    if (leg->last)
        count_up(&run->flows[packet->flow].departed);
    run->packets++;
    if (run->trace)
        pi2_trace_event(run, packet, PI2_TRACE_DEQUEUE, 0, now);
}

static void integrate(pi2_class *class_, int64_t now)
{
    const double time = (double)(now - class_->changed);
    class_->window_area += (double)class_->window_sum * time;
    class_->flow_area += (double)class_->there * time;
    class_->changed = now;
}

void pi2_count_flow(pi2_run *run, const pi2_flow *f, int change, int64_t now)
{
    pi2_class *class_ = pi2_class_of(run, f);
    integrate(class_, now);
    class_->there += change;
}

void pi2_window_moved(pi2_run *run, pi2_flow *f, int64_t now)
{
    pi2_class *class_ = pi2_class_of(run, f);
    integrate(class_, now);
    class_->window_sum += (int64_t)f->window.cwnd - (int64_t)f->counted;
    f->counted = f->window.cwnd;
}

void pi2_trace_event(pi2_run *run, const pi2_packet *packet, int what, int cause, int64_t now)
{
    if (run->traced == run->scenario.trace)
        return;
    run->trace[run->traced++] = (pi2_trace_row){
        .time = now,
        .waited = packet->enqueued == PI2_NOT_QUEUED ? 0 : now - packet->enqueued,
        .flow = packet->flow,
        .segment = packet->segment,
        .bytes = packet->bytes,
        .what = (uint8_t)what,
        .band = packet->band,
        .ecn = packet->ecn,
        .cause = (uint8_t)cause,
        .link = (uint16_t)run->legs[packet->leg].hop->number,
    };
}

/* Rows of what was counted since the last. */

static void leg_row(pi2_run *run, size_t i)
{
    pi2_leg *leg = run->legs + i;
    const int64_t *counts = run->counts + i * PI2_CAUSES;
    double *row = run->leg_rows + ((size_t)run->bin * run->leg_count + i) * PI2_LEG_COLUMNS;
    int64_t since[PI2_CAUSES];
    for (int cause = 0; cause < PI2_CAUSES; cause++) {
        since[cause] = counts[cause] - leg->before[cause];
        leg->before[cause] = counts[cause];
    }
    row[PI2_LEG_ARRIVALS] = (double)since[PI2_SENT];
    row[PI2_LEG_DEPARTURES] = (double)leg->departures;
    row[PI2_LEG_BITS] = (double)leg->bits;
    row[PI2_LEG_DROPS] = (double)(since[PI2_DROP_AQM] + since[PI2_DROP_FULL] + since[PI2_DROP_OVERLOAD]);
    row[PI2_LEG_MARKS] = (double)(since[PI2_MARK_AQM] + since[PI2_MARK_STEP]);
    row[PI2_LEG_SOJOURN] = leg->sojourn;
    leg->departures = leg->bits = 0;
    leg->sojourn = 0.0;
}

static void class_row(pi2_run *run, int i, double time, int64_t now)
{
    pi2_class *c = run->classes + i;
    double *row = run->class_rows + ((size_t)run->bin * (size_t)run->scenario.class_count + (size_t)i)
                                        * PI2_CLASS_COLUMNS;
    integrate(c, now);
    row[PI2_CLASS_WINDOW] = c->flow_area > 0.0 ? c->window_area / c->flow_area : 0.0;
    row[PI2_CLASS_FLOWS] = c->flow_area / time;
    c->window_area = c->flow_area = 0.0;
}

static void ring_row(pi2_ring *ring, double *row, double time, int64_t now)
{
    pi2_ring_integrate(ring, now);
    row[PI2_BIN_RING_BYTES] = ring->area / time;
    row[PI2_BIN_RING_WAITED] = ring->waited;
    row[PI2_BIN_RING_ENTERED] = (double)ring->entered;
    row[PI2_BIN_RING_LIMIT] = ring->by_bytes ? (double)ring->bql.limit : 0.0;
    ring->area = ring->waited = 0.0;
    ring->entered = 0;
}

/* `means`: of each of its bands. */
static void hop_row(pi2_run *run, pi2_hop *hop, double *means, double time, int64_t now)
{
    double *row = run->bin_rows + ((size_t)run->bin * run->hop_count + hop->number) * PI2_BIN_COLUMNS;
    pi2_probe probe = {0.0, 0.0, 0.0};
    pi2_backlog_changes(hop, now);
    for (int band = 0; band < hop->queue.bands; band++, means += PI2_BAND_COLUMNS) {
        means[PI2_BAND_BYTES] = hop->area[band] / time;
        means[PI2_BAND_SQUARE] = hop->square[band] / time;
        hop->area[band] = hop->square[band] = 0.0;
    }
    hop->qdisc->probe(hop->discipline, &hop->queue, &probe);
    row[PI2_BIN_CAPACITY] = hop->out_from == PI2_NEVER ? hop->queue.capacity : 0.0;
    row[PI2_BIN_CONTROLLER] = probe.controller;
    row[PI2_BIN_CLASSIC] = probe.classic;
    row[PI2_BIN_SCALABLE] = probe.scalable;
    if (hop->ring.most)
        ring_row(&hop->ring, row, time, now);
}

/* At the end of a block: what departed in it, flow by flow. The next one is likely to see the same delays. */
static void end_block(pi2_run *run)
{
    uint32_t *departed = run->delivered + (size_t)((run->bin - 1) / run->per_block) * run->flow_count;
    for (uint32_t i = 0; i < run->flow_count; i++) {
        departed[i] = run->flows[i].departed;
        run->flows[i].departed = 0;
    }
    if (run->bin < run->bins && !give_buckets(run, run->buckets))
        run->no_memory = 1;
}

void pi2_end_bin(pi2_run *run, int64_t now)
{
    const double time = (double)(now - run->bin * run->scenario.bin);
    double *means = run->band_rows + (size_t)run->bin * run->band_count * PI2_BAND_COLUMNS;
    for (uint32_t i = 0; i < run->hop_count; i++) {
        hop_row(run, run->hops + i, means, time, now);
        means += run->hops[i].queue.bands * PI2_BAND_COLUMNS;
    }
    for (size_t i = 0; i < run->leg_count; i++)
        leg_row(run, i);
    for (int i = 0; i < run->scenario.class_count; i++)
        class_row(run, i, time, now);
    run->bin++;
    if (run->bin % run->per_block == 0 || run->bin == run->bins)
        end_block(run);
    run->bin_end = now + run->scenario.bin;
    if (run->bin_end > run->scenario.duration)
        run->bin_end = run->scenario.duration;
}
