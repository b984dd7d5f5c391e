/* The timer of a sender fires: timeout, tail loss probe, or late segments. */
#include "packet/tcp/ends/timeout.h"

#include "packet/run/statistics.h"
#include "packet/run/transfers.h"
#include "packet/tcp/ends/connection.h"
#include "packet/tcp/ends/recovery.h"
#include "packet/tcp/ends/sender_timer.h"
#include "packet/tcp/ends/transmission.h"
#include "packet/tcp/published.h"

/* As in Linux it does not count as under way a second time. What answers it ends the transfer, or tells of losses before
 * it: where it repairs its own loss, there is no window left to reduce. */
static void send_last_again(pi2_run *run, pi2_flow *f, int64_t now)
{
    const uint32_t last = f->window.next - 1;
    const uint64_t counted = *pi2_board(f, last) & PI2_RETRANSMITTED;
    pi2_class_of(run, f)->retransmissions++;
    pi2_transmit(run, f, last, 1, now);
    if (!counted)
        *pi2_board(f, last) &= ~(uint64_t)PI2_RETRANSMITTED;
}

/* The next segment or, if all were sent, the last once more (RFC 8985, section 7.3). */
static void probe(pi2_run *run, pi2_flow *f, int64_t now)
{
    if (!f->probe_high && pi2_outstanding(f)) {
        const int new = pi2_more_to_send(run, f);
        if (new && !pi2_board_room(f)) {
            run->no_memory = 1;
            return;
        }
        if (pi2_in_reduction(f))
            f->prr_sent++;
        if (new)
            pi2_transmit(run, f, f->window.next++, 0, now);
        else
            send_last_again(run, f, now);
        f->probe_high = f->window.next;
        f->timer = PI2_TIMER_IDLE;
    }
    pi2_arm_rto(run, f, now);
}

static void timeout(pi2_run *run, pi2_flow *f, int64_t now)
{
    if (!pi2_outstanding(f))
        return;
    if (!pi2_again_room(f)) {
        run->no_memory = 1;
        return;
    }
    pi2_enter_loss(run, f, now);
    f->retries++;
    pi2_class_of(run, f)->timeouts++;
    pi2_send_one_again(run, f, f->window.una, now);
    f->rto = 2 * f->rto < PI2_RTO_MAX_MS ? 2 * f->rto : PI2_RTO_MAX_MS;
    pi2_arm(run, f, PI2_TIMER_RTO, f->rto, now);
}

void pi2_sender_timer(pi2_run *run, pi2_flow *f, int64_t now)
{
    const int what = f->timer;
    if (f->life == PI2_CONNECTING) {
        pi2_flow_retry(run, f, now);
        return;
    }
    if (f->life == PI2_PAUSED) {
        pi2_flow_open(run, f, now);
        return;
    }
    if (what == PI2_TIMER_RTO) {
        f->timer = PI2_TIMER_IDLE;
        timeout(run, f, now);
    } else if (what == PI2_TIMER_PROBE) {
        probe(run, f, now);
    } else if (what == PI2_TIMER_REORDER) {
        pi2_reorder_timeout(run, f, now);
    }
    pi2_count_window(run, f, now);
}
