/* Window algorithms driven without a network: row by row against recorded arithmetic, and on average. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "packet/tcp/congestion/cubic.h"
#include "packet/tcp/congestion/dctcp.h"
#include "packet/tcp/congestion/paganini.h"
#include "packet/tcp/congestion/prague.h"
#include "packet/tcp/congestion.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CUBIC after one signal at time 0, `rows` columns: window and cnt (segments), friendly_cwnd (segments), k (1/1024 s),
 * origin (segments). */
typedef struct {
    int64_t *cwnd, *cnt, *friendly_cwnd, *k, *origin;
} pi2_cubic_rows;

/* A window of `window` segments meets a signal; then one acknowledgement for 2 segments after the other, evenly over
 * round-trip times of `rtt` ns. What there is at each of the times `at` (ns, rising). */
void pi2_replay_cubic(const pi2_cubic_parameters *parameters, uint32_t window, int64_t rtt, size_t rows, const int64_t *at,
                      pi2_cubic_rows result);

/* DCTCP, `rows` windows: alpha before and after each (units of 1/1024), and then the threshold after marks for windows
 * of 10, 100 and 1000 segments. */
typedef struct {
    double *alpha_before, *alpha_after;
    int64_t *ss10, *ss100, *ss1000;
} pi2_dctcp_rows;

/* `alpha`: the first one, in 1/1024. Of each window, segments delivered and how many of them were marked. */
void pi2_replay_dctcp(const pi2_dctcp_parameters *parameters, double alpha, size_t rows, const int64_t *delivered, const int64_t *ce,
                      pi2_dctcp_rows result);

/* Prague, after each of `rows` acknowledgements: time (ns), its window with the fraction, alpha; and in segments the next
 * one to be sent (before it), cwnd, rounds after slow start, ssthresh (-1: none yet). */
typedef struct {
    double *time, *window, *alpha;
    int64_t *next, *cwnd, *round, *ssthresh;
} pi2_prague_rows;

/* From slow start at `window` segments, one acknowledgement for each segment, evenly over round-trip times of `rtt` ns;
 * `ce`: whether it was marked. */
void pi2_replay_prague(const pi2_prague_parameters *parameters, uint32_t window, int64_t rtt, size_t rows,
                       const int64_t *ce, pi2_prague_rows result);

/* Paganini's source, after each of `rows` acknowledgements: time (ns), its window and the one that it expects (segments,
 * with their fractions), xi, and the price (s) of its last update; the window in whole segments. */
typedef struct {
    double *time, *window, *expected, *xi, *price;
    int64_t *cwnd;
} pi2_paganini_rows;

/* From `window` segments on, one acknowledgement for each segment: `at` these times (ns), or, NULL, one after the other
 * in the round-trip time over the window. Of each its round-trip time (ns), whether it was marked, and whether a loss
 * was found before it. */
void pi2_replay_paganini(const pi2_paganini_parameters *parameters, uint32_t window, size_t rows, const int64_t *at,
                         const int64_t *rtt, const int64_t *ce, const int64_t *lost, pi2_paganini_rows result);

/* Signals at a fixed probability per packet. */
typedef struct {
    double p;             /* probability, (0, 1] */
    int periodic;         /* every 1/p packets; else independently */
    int64_t rtt;          /* ns */
    uint32_t per_ack;     /* segments per acknowledgement */
    uint32_t window;      /* the first one, segments */
    int grows_in_cwr;     /* also in the window after a reduction */
    uint64_t packets;     /* delivered in all */
    uint64_t warm_up;     /* the first of them do not count */
    uint64_t seed;
} pi2_feedback;

/* Mean over time of the window (segments): each acknowledgement acts at once, at most one reduction for a window of
 * packets; no slow start, no timeouts. */
double pi2_mean_window(const pi2_congestion *congestion, const void *parameters, const pi2_feedback *feedback);

#ifdef __cplusplus
}
#endif
