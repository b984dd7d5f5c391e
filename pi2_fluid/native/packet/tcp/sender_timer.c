/* The one timer of a sender: timeout (RFC 6298), tail loss probe (RFC 8985, section 7), reordering (section 6.2). */
#include "packet/tcp/jiffies.h"
#include "packet/tcp/rtt.h"
#include "packet/core/run.h"

static void set(pi2_run *run, pi2_flow *f, int what, int64_t ms, int64_t now)
{
    f->timer = (uint8_t)what;
    pi2_timer_set(&run->timers, &f->timers[PI2_SENDER_TIMER], pi2_jiffy_timer(now, ms));
}

static int64_t jiffies(int64_t us)
{
    return (us + 999) / 1000;
}

/* us that the timeout of the oldest segment has still to go. */
static int64_t left_of_rto(const pi2_flow *f, int64_t now)
{
    return (int64_t)f->rto * 1000 - (now - pi2_sent_at(*pi2_board(f, f->window.una))) / 1000;
}

/* From now, or, if another timer ran meanwhile, from when the oldest segment was sent. */
void pi2_arm_rto(pi2_run *run, pi2_flow *f, int64_t now)
{
    int64_t ms = f->rto;
    if (!pi2_outstanding(f)) {
        f->timer = PI2_TIMER_IDLE;
        pi2_timer_stop(&f->timers[PI2_SENDER_TIMER]);
        return;
    }
    if (f->timer == PI2_TIMER_REORDER || f->timer == PI2_TIMER_PROBE) {
        const int64_t us = left_of_rto(f, now);
        ms = jiffies(us > 1 ? us : 1);
    }
    set(run, f, PI2_TIMER_RTO, ms, now);
}

/* After two round trips without news; with one segment out, its acknowledgement may be delayed. 0 if no probe is
 * due in this state. */
int pi2_arm_probe(pi2_run *run, pi2_flow *f, int advancing, int64_t now)
{
    int64_t us, most;
    if (!pi2_outstanding(f) || (f->state != PI2_OPEN && f->state != PI2_REDUCED))
        return 0;
    us = ((int64_t)f->srtt * PI2_PROBE_RTTS >> 3) + (pi2_outstanding(f) == 1 ? PI2_RTO_MIN_US : PI2_TIMER_MIN_US);
    most = advancing ? (int64_t)f->rto * 1000 : left_of_rto(f, now);
    if (most > 0 && most < us)
        us = most;
    set(run, f, PI2_TIMER_PROBE, jiffies(us), now);
    return 1;
}

void pi2_arm_reorder(pi2_run *run, pi2_flow *f, int64_t wait, int64_t now)
{
    const int64_t ms = jiffies(wait / 1000 + PI2_TIMER_MIN_US);
    set(run, f, PI2_TIMER_REORDER, ms < f->rto ? ms : f->rto, now);
}

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
    set(run, f, PI2_TIMER_RTO, f->rto, now);
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
