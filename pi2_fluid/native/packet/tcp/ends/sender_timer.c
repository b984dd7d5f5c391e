/* The one timer of a sender: timeout (RFC 6298), tail loss probe (RFC 8985, section 7), reordering (section 6.2). */
#include "packet/tcp/ends/sender_timer.h"

#include "packet/tcp/jiffies.h"
#include "packet/tcp/published.h"

void pi2_arm(pi2_run *run, pi2_flow *f, int what, int64_t ms, int64_t now)
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
    pi2_arm(run, f, PI2_TIMER_RTO, ms, now);
}

/* After two round trips without news; with one segment out, its acknowledgement may be delayed. 0 if no probe is
 * due in this state. */
int pi2_arm_probe(pi2_run *run, pi2_flow *f, int advancing, int64_t now)
{
    int64_t us, most;
    if (!pi2_outstanding(f) || (f->state != PI2_OPEN && f->state != PI2_REDUCED))
        return 0;
    us = ((int64_t)f->srtt * PI2_PROBE_RTTS >> PI2_SRTT_SHIFT)
         + (pi2_outstanding(f) == 1 ? PI2_RTO_MIN_US : PI2_TIMER_MIN_US);
    most = advancing ? (int64_t)f->rto * 1000 : left_of_rto(f, now);
    if (most > 0 && most < us)
        us = most;
    pi2_arm(run, f, PI2_TIMER_PROBE, jiffies(us), now);
    return 1;
}

void pi2_arm_reorder(pi2_run *run, pi2_flow *f, int64_t wait, int64_t now)
{
    const int64_t ms = jiffies(wait / 1000 + PI2_TIMER_MIN_US);
    pi2_arm(run, f, PI2_TIMER_REORDER, ms < f->rto ? ms : f->rto, now);
}
