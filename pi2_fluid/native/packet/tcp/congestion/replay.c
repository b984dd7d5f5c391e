#include "packet/tcp/congestion/replay.h"

#include "packet/core/random.h"
#include "packet/tcp/published.h"

enum { SEGMENTS_PER_ACK = 2, US = 1000 };

void pi2_replay_cubic(const pi2_cubic_parameters *parameters, uint32_t window, int64_t rtt, size_t rows, const int64_t *at,
                      pi2_cubic_rows result)
{
    pi2_cubic s = {0};
    pi2_window w = {.cwnd = window, .ssthresh = window, .min_rtt = rtt, .srtt = rtt};
    int64_t now = 0;
    pi2_cc_cubic.begin(parameters, &s, &w, 0);
    s.min_rtt = (uint32_t)(rtt / US);
    w.ssthresh = w.cwnd = pi2_cc_cubic.ssthresh(parameters, &s, &w, now, PI2_BECAUSE_LOSS);
    for (size_t i = 0; i < rows; i++) {
        for (;;) {
            const int64_t step = rtt * SEGMENTS_PER_ACK / w.cwnd, next = now + (step > 0 ? step : 1);
            if (next > at[i])
                break;
            now = next;
            pi2_cc_cubic.grow(parameters, &s, &w, SEGMENTS_PER_ACK, now);
        }
        result.cwnd[i] = w.cwnd;
        result.cnt[i] = s.cnt;
        result.friendly_cwnd[i] = s.friendly_cwnd;
        result.k[i] = s.k;
        result.origin[i] = s.origin;
    }
}

/* The threshold of a flow in this state whose window is `cwnd`. */
static int64_t threshold(const void *parameters, pi2_dctcp *state, uint32_t cwnd)
{
    const pi2_window w = {.cwnd = cwnd, .ssthresh = cwnd};
    return pi2_cc_dctcp.ssthresh(parameters, state, &w, 0, PI2_BECAUSE_ECN);
}

void pi2_replay_dctcp(const pi2_dctcp_parameters *parameters, double alpha, size_t rows, const int64_t *delivered, const int64_t *ce,
                      pi2_dctcp_rows result)
{
    const double unit = parameters->fixed != 0.0 ? 1.0 : 1.0 / PI2_DCTCP_ONE;
    pi2_dctcp s = {0};
    pi2_window w = {.cwnd = PI2_LEAST_WINDOW, .ssthresh = PI2_LEAST_WINDOW};
    pi2_cc_dctcp.begin(parameters, &s, &w, 0);
    s.alpha = alpha * unit;
    for (size_t i = 0; i < rows; i++) {
        result.alpha_before[i] = s.alpha / unit;
        pi2_cc_dctcp.marks(parameters, &s, &w, (uint32_t)delivered[i], (uint32_t)ce[i], 0);
        result.alpha_after[i] = s.alpha / unit;
        result.ss10[i] = threshold(parameters, &s, 10);
        result.ss100[i] = threshold(parameters, &s, 100);
        result.ss1000[i] = threshold(parameters, &s, 1000);
    }
}

void pi2_replay_prague(const pi2_prague_parameters *parameters, uint32_t window, int64_t rtt, size_t rows,
                       const int64_t *ce, pi2_prague_rows result)
{
    pi2_prague s = {0};
    pi2_window w = {.cwnd = window, .ssthresh = PI2_NO_THRESHOLD, .min_rtt = rtt, .srtt = rtt};
    double time = 0.0;
    pi2_cc_prague.begin(parameters, &s, &w, 0);
    w.next = window;
    for (size_t i = 0; i < rows; i++) {
        const int64_t now = (int64_t)((time += (double)rtt / s.window) + 0.5);
        w.una++;
        result.next[i] = w.next;
        pi2_cc_prague.marks(parameters, &s, &w, 1, ce[i] != 0, now);
        pi2_cc_prague.grow(parameters, &s, &w, 1, now);
        result.time[i] = time;
        result.window[i] = s.window;
        result.alpha[i] = s.alpha;
        result.cwnd[i] = w.cwnd;
        result.round[i] = s.rounds;
        result.ssthresh[i] = w.ssthresh == PI2_NO_THRESHOLD ? -1 : (int64_t)w.ssthresh;
        if ((int32_t)(w.una + w.cwnd - w.next) > 0)
            w.next = w.una + w.cwnd;
    }
}

void pi2_replay_paganini(const pi2_paganini_parameters *parameters, uint32_t window, size_t rows, const int64_t *at,
                         const int64_t *rtt, const int64_t *ce, const int64_t *lost, pi2_paganini_rows result)
{
    pi2_paganini_state s = {0};
    pi2_window w = {.cwnd = window, .ssthresh = PI2_NO_THRESHOLD, .min_rtt = rows ? rtt[0] : 1};
    double time = 0.0;
    pi2_cc_paganini.begin(parameters, &s, &w, 0);
    for (size_t i = 0; i < rows; i++) {
        const int64_t now = at ? at[i] : (int64_t)((time += (double)rtt[i] / s.window) + 0.5);
        w.min_rtt = rtt[i] < w.min_rtt ? rtt[i] : w.min_rtt;
        pi2_cc_paganini.marks(parameters, &s, &w, 1, ce[i] != 0, now);
        if (lost[i]) {
            w.prior_cwnd = w.cwnd;
            w.cwnd = w.ssthresh = pi2_cc_paganini.ssthresh(parameters, &s, &w, now, PI2_BECAUSE_LOSS);
        }
        pi2_cc_paganini.grow(parameters, &s, &w, 1, now);
        result.time[i] = at ? (double)now : time;
        result.window[i] = s.window;
        result.expected[i] = s.expected;
        result.xi[i] = s.xi;
        result.price[i] = s.price;
        result.cwnd[i] = w.cwnd;
    }
}

/* How many of the `n` packets from `first` on are signalled. */
static uint32_t signals(const pi2_feedback *f, uint64_t key, uint64_t first, uint32_t n)
{
    uint32_t count = 0;
    for (uint64_t i = first; i < first + n; i++)
        count += f->periodic ? (uint64_t)((double)(i + 1) * f->p + 1e-9) > (uint64_t)((double)i * f->p + 1e-9)
                             : pi2_unit(pi2_random(key, i)) < f->p;
    return count;
}

double pi2_mean_window(const pi2_congestion *congestion, const void *parameters, const pi2_feedback *f)
{
    double state[PI2_CC_STATE_BYTES / sizeof(double)] = {0}, time = 0.0, counted = 0.0;
    pi2_window w = {.cwnd = f->window, .ssthresh = f->window, .min_rtt = f->rtt, .srtt = f->rtt};
    const uint64_t key = pi2_stream_key(f->seed, 0);
    uint32_t high = 0;
    int reducing = 0;
    congestion->begin(parameters, state, &w, 0);
    for (uint64_t sent = 0; sent < f->packets; sent += f->per_ack) {
        const uint32_t marked = signals(f, key, sent, f->per_ack);
        const double passed = (double)f->rtt * f->per_ack / w.cwnd;
        const int64_t now = (int64_t)(time += passed);
        if (sent >= f->warm_up)
            counted += passed;
        w.una += f->per_ack;
        w.next = w.una + w.cwnd;
        if (reducing && (int32_t)(w.una - high) > 0)
            reducing = 0;
        if (congestion->sample)
            congestion->sample(parameters, state, &w, f->per_ack, f->rtt, now);
        if (congestion->marks)
            congestion->marks(parameters, state, &w, f->per_ack, marked, now);
        if (marked && !reducing && !(congestion->flags & PI2_CC_NO_REDUCTION)) {
            w.ssthresh = w.cwnd = congestion->ssthresh(parameters, state, &w, now, PI2_BECAUSE_ECN);
            w.counter = 0;
            high = w.next;
            reducing = 1;
        } else if (!reducing || f->grows_in_cwr) {
            congestion->grow(parameters, state, &w, f->per_ack, now);
        }
    }
    return (double)f->rtt * (double)(f->packets - f->warm_up) / counted;
}
