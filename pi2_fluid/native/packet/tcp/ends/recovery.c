/* Loss recovery: what state the sender is in, how the window is reduced, and when that is undone. What counts as lost
 * is decided in rack.c.
 * Proportional rate reduction (RFC 6937), F-RTO (RFC 5682), the Eifel response (RFC 4015). */
#include "packet/tcp/ends/recovery.h"

#include "packet/tcp/ends/rack.h"
#include "packet/tcp/ends/sender_timer.h"
#include "packet/tcp/ends/transmission.h"
#include "packet/tcp/prr.h"

static int any_retransmission(const pi2_flow *f)
{
    return f->retransmitted > 0 || (pi2_outstanding(f) && *pi2_board(f, f->window.una) & PI2_EVER);
}

/* Reductions */

static void begin_reduction(pi2_run *run, pi2_flow *f, int because, int64_t now)
{
    const pi2_packet_class *spec = pi2_class_of(run, f)->spec;
    f->high = f->window.next;
    f->probe_high = 0;
    f->window.counter = 0;
    f->window.prior_cwnd = f->window.cwnd;
    f->prr_delivered = f->prr_sent = 0;
    f->window.ssthresh = pi2_control_of(spec, f)->ssthresh(pi2_parameters_of(spec, f), f->state_of_cc, &f->window, now,
                                                           because);
    f->cwr_due = pi2_ecn_of(run, f) != PI2_NOT_ECT;
}

static void enter_reduced(pi2_run *run, pi2_flow *f, int64_t now)
{
    f->prior_threshold = 0;
    if (f->state >= PI2_REDUCED)
        return;
    f->may_undo = 0;
    begin_reduction(run, f, PI2_BECAUSE_ECN, now);
    f->state = PI2_REDUCED;
}

/* The threshold to which an undone reduction returns: 3/4 of the window unless it was higher (RFC 2861, section 3). */
static uint32_t threshold_now(const pi2_flow *f)
{
    const uint32_t three_quarters = (f->window.cwnd >> 1) + (f->window.cwnd >> 2);
    if (pi2_in_reduction(f) || f->window.ssthresh > three_quarters)
        return f->window.ssthresh;
    return three_quarters;
}

static void allow_undo(pi2_flow *f)
{
    f->may_undo = 1;
    f->undo_from = f->window.una;
    f->undo_left = f->retransmitted ? (int32_t)f->retransmitted : -1;
}

static void enter_recovery(pi2_run *run, pi2_flow *f, unsigned flags, int64_t now)
{
    f->prior_threshold = 0;
    allow_undo(f);
    if (!pi2_in_reduction(f)) {
        if (!(flags & PI2_ECE))
            f->prior_threshold = threshold_now(f);
        begin_reduction(run, f, PI2_BECAUSE_LOSS, now);
    }
    f->state = PI2_RECOVERY;
}

static void end_reduction(pi2_flow *f)
{
    if (f->window.ssthresh < PI2_NO_THRESHOLD && (f->state == PI2_REDUCED || f->may_undo))
        f->window.cwnd = f->window.ssthresh;
}

void pi2_reduce(pi2_flow *f, const pi2_news *news)
{
    const int64_t flight = pi2_in_flight(f);
    if (news->delivered == 0 || f->window.prior_cwnd == 0)
        return;
    f->prr_delivered += news->delivered;
    f->window.cwnd = (uint32_t)(flight + pi2_prr(&(pi2_prr_state){
        .ssthresh = f->window.ssthresh,
        .prior_window = f->window.prior_cwnd,
        .in_flight = flight,
        .delivered = news->delivered,
        .delivered_in_all = f->prr_delivered,
        .sent = f->prr_sent,
        .safe = news->flags & PI2_ADVANCED && !news->newly_lost,
    }));
}

/* Undoing */

static int only_delayed(const pi2_flow *f, int64_t echo)
{
    return f->first_retransmission == PI2_NEVER || echo / PI2_MS < f->first_retransmission;
}

static int needless(const pi2_flow *f, int64_t echo)
{
    return f->may_undo && (f->undo_left == 0 || only_delayed(f, echo));
}

static void undo(pi2_flow *f, int forget_losses)
{
    if (forget_losses) {
        for (uint32_t segment = f->window.una; segment != f->window.next; segment++)
            *pi2_board(f, segment) &= ~(uint64_t)PI2_LOST;
        f->lost = 0;
        f->walked = f->window.una;
    }
    if (f->prior_threshold) {
        if (f->window.cwnd < f->window.prior_cwnd)
            f->window.cwnd = f->window.prior_cwnd;
        if (f->prior_threshold > f->window.ssthresh) {
            f->window.ssthresh = f->prior_threshold;
            f->cwr_due = 0;
        }
    }
    f->may_undo = 0;
    f->rack_moved = 1;
}

static void keep_open(pi2_flow *f)
{
    const uint8_t state = f->sacked || f->lost || any_retransmission(f) ? PI2_DISORDER : PI2_OPEN;
    if (f->state != state) {
        f->state = state;
        f->high = f->window.next;
    }
}

static void try_to_open(pi2_run *run, pi2_flow *f, unsigned flags, int64_t now)
{
    if (!any_retransmission(f))
        f->first_retransmission = PI2_NEVER;
    if (flags & PI2_ECE)
        enter_reduced(run, f, now);
    if (f->state != PI2_REDUCED)
        keep_open(f);
}

static void finish_recovery(pi2_flow *f, int64_t echo)
{
    if (needless(f, echo))
        undo(f, 0);
    f->state = PI2_OPEN;
}

/* A part of what was lost arrived: was it only late? */
static int undo_partially(pi2_flow *f, int64_t echo)
{
    if (!f->may_undo || !only_delayed(f, echo))
        return 0;
    if (f->retransmitted)
        return 1;
    if (!any_retransmission(f))
        f->first_retransmission = PI2_NEVER;
    undo(f, 1);
    keep_open(f);
    return 1;
}

static int undo_timeout(pi2_flow *f, int proved, int64_t echo)
{
    if (!proved && !needless(f, echo))
        return 0;
    undo(f, 1);
    f->retries = 0;
    f->state = PI2_OPEN;
    return 1;
}

/* After a timeout. Returns what is to be sent. */
static int recover_from_timeout(pi2_flow *f, pi2_news *news, int64_t echo)
{
    const int recovered = (int32_t)(f->window.una - f->high) >= 0;
    if (news->flags & PI2_ADVANCED && undo_timeout(f, 0, echo))
        return PI2_NOTHING_LOST;
    if (f->frto) { /* RFC 5682, section 3.1 */
        if (news->flags & PI2_ORIGINAL && undo_timeout(f, 1, echo))
            return PI2_NOTHING_LOST;
        if ((int32_t)(f->window.next - f->high) > 0) {
            if (!(news->flags & PI2_ADVANCED) || news->flags & PI2_NEWLY_SACKED)
                f->frto = 0; /* the loss was real */
        } else if (news->flags & PI2_ADVANCED && !recovered) {
            f->high = f->window.next;
            return PI2_SEND_NEW;
        }
    }
    if (recovered) {
        finish_recovery(f, echo);
        return PI2_NOTHING_LOST;
    }
    return PI2_RESEND_LOST;
}

/* The state machine of an acknowledgement that is not plain progress. */
int pi2_react(pi2_run *run, pi2_flow *f, pi2_news *news, int64_t echo, int64_t now)
{
    int rexmit;
    if (news->flags & PI2_ECE)
        f->prior_threshold = 0;
    if (f->state == PI2_OPEN) {
        f->first_retransmission = PI2_NEVER;
    } else if ((int32_t)(f->window.una - f->high) >= 0) {
        if (f->state == PI2_REDUCED && f->window.una != f->high) {
            end_reduction(f);
            f->state = PI2_OPEN;
        } else if (f->state == PI2_RECOVERY) {
            finish_recovery(f, echo);
            end_reduction(f);
        }
    }
    if (f->state == PI2_LOSS) {
        rexmit = recover_from_timeout(f, news, echo);
        pi2_look_for_losses(run, f, news, now);
        if (f->state != PI2_OPEN && !(news->flags & PI2_LOST_AGAIN))
            return rexmit;
    } else if (f->state == PI2_RECOVERY) {
        if (news->flags & PI2_ADVANCED && undo_partially(f, echo))
            return PI2_NOTHING_LOST;
        if (f->may_undo && f->undo_left == 0) {
            undo(f, 0);
            try_to_open(run, f, news->flags, now);
        }
        pi2_look_for_losses(run, f, news, now);
        if (f->state == PI2_RECOVERY)
            return PI2_RESEND_LOST;
        if (!f->lost)
            return PI2_NOTHING_LOST;
        enter_recovery(run, f, news->flags, now);
        return PI2_RESEND_LOST;
    } else {
        if (f->state <= PI2_DISORDER && f->may_undo && f->undo_left == 0)
            undo(f, 0);
        pi2_look_for_losses(run, f, news, now);
    }
    if (!f->lost) {
        try_to_open(run, f, news->flags, now);
        return PI2_NOTHING_LOST;
    }
    enter_recovery(run, f, news->flags, now);
    return PI2_RESEND_LOST;
}

/* The reordering timer: what was late then is lost now. */
void pi2_reorder_timeout(pi2_run *run, pi2_flow *f, int64_t now)
{
    pi2_news news = {.delivered = 1};
    const uint32_t before = pi2_in_flight(f);
    pi2_late_segments(f, &news, now);
    if (pi2_in_flight(f) != before) {
        news.newly_lost = 0;
        if (f->state != PI2_RECOVERY) {
            enter_recovery(run, f, 0, now);
            pi2_reduce(f, &news);
        }
        pi2_send_again(run, f, now);
    }
    if (f->timer != PI2_TIMER_RTO)
        pi2_arm_rto(run, f, now);
}

/* A timeout: the oldest segment, and all that are as old as RACK allows, count as lost. */
void pi2_enter_loss(pi2_run *run, pi2_flow *f, int64_t now)
{
    const pi2_packet_class *spec = pi2_class_of(run, f)->spec;
    const int fresh = f->state < PI2_RECOVERY;
    pi2_news news = {0};
    for (uint32_t segment = f->window.una; segment != f->window.next; segment++) {
        const uint64_t e = *pi2_board(f, segment);
        if (e & PI2_SACKED || (segment != f->window.una && f->rack_rtt - (now - pi2_sent_at(e)) > 0))
            continue;
        pi2_mark_lost(f, segment, &news);
    }
    if (f->state <= PI2_DISORDER || (int32_t)(f->high - f->window.una) <= 0 || (f->state == PI2_LOSS && !f->retries)) {
        f->prior_threshold = threshold_now(f);
        f->window.prior_cwnd = f->window.cwnd;
        f->window.ssthresh = pi2_control_of(spec, f)->ssthresh(pi2_parameters_of(spec, f), f->state_of_cc, &f->window,
                                                               now, PI2_BECAUSE_LOSS);
        allow_undo(f);
    }
    if (pi2_control_of(spec, f)->timeout)
        pi2_control_of(spec, f)->timeout(pi2_parameters_of(spec, f), f->state_of_cc);
    f->window.cwnd = pi2_in_flight(f) + 1;
    f->window.counter = 0;
    f->state = PI2_LOSS;
    f->high = f->window.next;
    f->probe_high = 0;
    f->cwr_due = pi2_ecn_of(run, f) != PI2_NOT_ECT;
    f->frto = fresh || f->retries;
}
