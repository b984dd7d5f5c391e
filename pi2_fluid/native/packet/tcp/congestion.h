/* Congestion control: how a sender's window grows and shrinks, one algorithm per file (congestion/NAME.c). Pure C11.
 *
 * Everything that senders share (what is in flight, what is lost, when a reduction is due) lies in ends/sender.c,
 * rack.c and recovery.c, which call these. Windows are whole segments, as in Linux. Time is in ns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PI2_CC_PARAMETERS = 12, PI2_CC_STATE_BYTES = 96 };

#define PI2_NO_THRESHOLD UINT32_C(0x7fffffff) /* TCP_INFINITE_SSTHRESH */

/* What an algorithm may read and change of its flow. */
typedef struct {
    uint32_t cwnd, ssthresh; /* segments */
    uint32_t counter;        /* segments acknowledged towards the next one of growth */
    uint32_t prior_cwnd;     /* window before the last reduction */
    uint32_t una, next;      /* first segment not acknowledged, next one to be sent for the first time */
    int64_t min_rtt;         /* ns, PI2_NEVER before the first sample */
    int64_t srtt;            /* ns, smoothed, 0 before the first sample */
} pi2_window;

/* Why a window is reduced. */
enum { PI2_BECAUSE_LOSS, PI2_BECAUSE_ECN };

enum {
    PI2_CC_EXACT_CE = 1,    /* the receiver tells which segments were marked: RFC 8257, section 3.2 */
    PI2_CC_NO_REDUCTION = 2 /* marks move the window in `marks` alone; the sender never enters CWR for them */
};

typedef struct pi2_congestion {
    const char *name;
    int parameters;           /* doubles that configure it, a struct whose fields are listed in its file */
    const char *const *names; /* of them */
    unsigned flags;

    /* A flow begins (the window is set already). `state` has PI2_CC_STATE_BYTES, all 0, aligned for a double. */
    void (*begin)(const void *parameters, void *state, const pi2_window *window, int64_t now);
    /* `acked` segments arrived while the window may grow: slow start and congestion avoidance. */
    void (*grow)(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t now);
    /* The threshold after a reduction, PI2_BECAUSE_*; called once per reduction, before the window changes. The sender
     * then sets cwnd, and counter to 0. */
    uint32_t (*ssthresh)(const void *parameters, void *state, const pi2_window *window, int64_t now, int because);
    /* An acknowledgement of `acked` segments gave a round-trip sample (ns). NULL: not used. */
    void (*sample)(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t rtt, int64_t now);
    /* Every acknowledgement: segments delivered by it, and how many of them were marked. NULL: not used. */
    void (*marks)(const void *parameters, void *state, pi2_window *window, uint32_t delivered, uint32_t marked,
                  int64_t now);
    /* A timeout: what is known of the path is void. NULL: nothing is kept. */
    void (*timeout)(const void *parameters, void *state);
    /* ns between two new segments of a paced flow, each of which then leaves by itself. NULL: what the window and the
     * smoothed round-trip time make of it, and bursts. */
    double (*pace)(const void *state, const pi2_window *window);
    /* What takes its place on a connection without ECN, with these parameters. NULL: itself or, if it cannot do without
     * exact marks, it insists on ECN. */
    const struct pi2_congestion *without_ecn;
    const double *parameters_without_ecn;
} pi2_congestion;

#define PI2_CC(name) extern const pi2_congestion pi2_cc_##name;
#include "laws.def"

/* Of Reno, as in RFC 5681. */
extern const double pi2_usual_reno[];

/* Segments: no window is reduced below this (RFC 5681, equation 4), a timeout apart. */
enum { PI2_LEAST_WINDOW = 2 };

static inline uint32_t pi2_at_least_two(uint32_t window)
{
    return window > PI2_LEAST_WINDOW ? window : (uint32_t)PI2_LEAST_WINDOW;
}

/* The algorithm of that name, NULL if there is none (in packet/tcp/congestion/reno.c). */
const pi2_congestion *pi2_find_congestion(const char *name);

/* Slow start: grows to the threshold at most; returns what is left of `acked` (in packet/tcp/congestion/reno.c). */
uint32_t pi2_slow_start(pi2_window *window, uint32_t acked);
/* Congestion avoidance: one segment for every `per` acknowledged (in packet/tcp/congestion/reno.c). */
void pi2_additive_increase(pi2_window *window, uint32_t per, uint32_t acked);
/* The entry `grow` of who grows as Reno does: the one, then the other (in packet/tcp/congestion/reno.c). */
void pi2_reno_grow(const void *parameters, void *state, pi2_window *window, uint32_t acked, int64_t now);

#ifdef __cplusplus
}
#endif
