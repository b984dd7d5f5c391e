/* What is counted: rows for each bin, delays by block, totals, and a trace if one is wanted. */
#include "packet/run/statistics.h"

#include <stdlib.h>

/* Points at the counters of the block in which the next bin lies. */
static void begin_block(pi2_run *run)
{
    const int64_t block = run->bin < run->bins ? run->bin / run->per_block : run->blocks - 1;
    const size_t classes = (size_t)run->scenario.class_count;
    for (size_t i = 0; i < classes; i++)
        run->classes[i].delays = run->delays + ((size_t)block * classes + i) * PI2_DELAY_BUCKETS;
}

int pi2_statistics_new(pi2_run *run)
{
    const pi2_packet_scenario *s = &run->scenario;
    const size_t bins = (size_t)run->bins, classes = (size_t)s->class_count, bands = (size_t)s->qdisc->bands;
    run->bin_rows = calloc(bins * PI2_BIN_COLUMNS, sizeof *run->bin_rows);
    run->band_rows = calloc(bins * bands * PI2_BAND_COLUMNS, sizeof *run->band_rows);
    run->class_rows = calloc(bins * classes * PI2_CLASS_COLUMNS, sizeof *run->class_rows);
    run->delays = calloc((size_t)run->blocks * classes * PI2_DELAY_BUCKETS, sizeof *run->delays);
    run->delivered = calloc((size_t)run->blocks * run->flow_count + 1, sizeof *run->delivered);
    run->totals = calloc(classes * PI2_TOTALS, sizeof *run->totals);
    run->counts = calloc(classes * PI2_CAUSES, sizeof *run->counts);
    run->trace = s->trace > 0 ? malloc((size_t)s->trace * sizeof *run->trace) : NULL;
    if (!run->bin_rows || !run->band_rows || !run->class_rows || !run->delays || !run->delivered || !run->totals
        || !run->counts || (s->trace > 0 && !run->trace))
        return 0;
    begin_block(run);
    return 1;
}

void pi2_statistics_free(pi2_run *run)
{
    free(run->bin_rows);
    free(run->band_rows);
    free(run->class_rows);
    free(run->delays);
    free(run->delivered);
    free(run->totals);
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
    pi2_class *class_ = run->classes + packet->class_;
    class_->departures++;
    class_->sojourn += (double)waited;
    count_up(class_->delays + pi2_delay_bucket(waited));
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
    };
}

/* A row of a class: what was counted since the last. */
static void class_row(pi2_run *run, int i, double time, int64_t now)
{
    pi2_class *c = run->classes + i;
    const int64_t *counts = run->counts + (size_t)i * PI2_CAUSES;
    double *row = run->class_rows + ((size_t)run->bin * (size_t)run->scenario.class_count + (size_t)i)
                                        * PI2_CLASS_COLUMNS;
    int64_t since[PI2_CAUSES];
    integrate(c, now);
    for (int cause = 0; cause < PI2_CAUSES; cause++) {
        since[cause] = counts[cause] - c->before[cause];
        c->before[cause] = counts[cause];
    }
    row[PI2_CLASS_ARRIVALS] = (double)since[PI2_SENT];
    row[PI2_CLASS_DEPARTURES] = (double)c->departures;
    row[PI2_CLASS_BITS] = (double)c->bits;
    row[PI2_CLASS_DROPS] = (double)(since[PI2_DROP_AQM] + since[PI2_DROP_FULL] + since[PI2_DROP_OVERLOAD]);
    row[PI2_CLASS_MARKS] = (double)(since[PI2_MARK_AQM] + since[PI2_MARK_STEP]);
    row[PI2_CLASS_SOJOURN] = c->sojourn;
    row[PI2_CLASS_WINDOW] = c->flow_area > 0.0 ? c->window_area / c->flow_area : 0.0;
    row[PI2_CLASS_FLOWS] = c->flow_area / time;
    c->departures = c->bits = 0;
    c->sojourn = c->window_area = c->flow_area = 0.0;
}

/* At the end of a block: what departed in it, flow by flow. */
static void end_block(pi2_run *run)
{
    uint32_t *departed = run->delivered + (size_t)((run->bin - 1) / run->per_block) * run->flow_count;
    for (uint32_t i = 0; i < run->flow_count; i++) {
        departed[i] = run->flows[i].departed;
        run->flows[i].departed = 0;
    }
}

void pi2_end_bin(pi2_run *run, int64_t now)
{
    const double time = (double)(now - run->bin * run->scenario.bin);
    double *row = run->bin_rows + (size_t)run->bin * PI2_BIN_COLUMNS;
    pi2_hop *hop = &run->hop;
    double *means = run->band_rows + (size_t)run->bin * (size_t)hop->queue.bands * PI2_BAND_COLUMNS;
    pi2_probe probe = {0.0, 0.0, 0.0};
    pi2_backlog_changes(hop, now);
    for (int band = 0; band < hop->queue.bands; band++, means += PI2_BAND_COLUMNS) {
        means[PI2_BAND_BYTES] = hop->area[band] / time;
        means[PI2_BAND_SQUARE] = hop->square[band] / time;
        hop->area[band] = hop->square[band] = 0.0;
    }
    hop->qdisc->probe(hop->discipline, &hop->queue, &probe);
    row[PI2_BIN_CAPACITY] = hop->queue.capacity;
    row[PI2_BIN_CONTROLLER] = probe.controller;
    row[PI2_BIN_CLASSIC] = probe.classic;
    row[PI2_BIN_SCALABLE] = probe.scalable;
    for (int i = 0; i < run->scenario.class_count; i++)
        class_row(run, i, time, now);
    run->bin++;
    if (run->bin % run->per_block == 0 || run->bin == run->bins)
        end_block(run);
    begin_block(run);
    run->bin_end = now + run->scenario.bin;
    if (run->bin_end > run->scenario.duration)
        run->bin_end = run->scenario.duration;
}
