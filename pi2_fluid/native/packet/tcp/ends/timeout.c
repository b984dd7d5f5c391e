/* The timer of a sender fires: timeout, tail loss probe, or late segments. */
#include "packet/tcp/ends/timeout.h"

#include "packet/run/statistics.h"
#include "packet/tcp/ends/connection.h"
#include "packet/tcp/ends/recovery.h"
#include "packet/tcp/ends/sender_timer.h"
#include "packet/tcp/ends/transmission.h"
#include "packet/tcp/published.h"

static void probe(pi2_run *run, pi2_flow *f, int64_t now)
{
    if (!f->probe_high && pi2_outstanding(f)) {
        if (!pi2_board_room(f)) {
            run->no_memory = 1;
            return;
        }
        if (pi2_in_reduction(f))
            f->prr_sent++;
        pi2_transmit(run, f, f->window.next++, 0, now);
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
