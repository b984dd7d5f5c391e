/* Sending: new segments, and those that were lost. */
#include "packet/tcp/ends/transmission.h"

#include "packet/run/link.h"
#include "packet/run/transfers.h"
#include "packet/tcp/ends/push.h"
#include "packet/tcp/ends/sender_timer.h"
#include "packet/tcp/published.h"

void pi2_transmit(pi2_run *run, pi2_flow *f, uint32_t segment, int again, int64_t now)
{
    const pi2_class *class_ = pi2_class_of(run, f);
    pi2_packet packet = {
        .sent = now,
        .segment = segment,
        .flow = pi2_number(run, f),
        .bytes = (uint16_t)class_->spec->packet_size,
        .ecn = pi2_ecn_of(run, f),
    };
    uint64_t *entry = pi2_board(f, segment);
    uint64_t kept = again ? (*entry & 0xff) | PI2_EVER | PI2_RETRANSMITTED : 0;
    if (segment == f->push && !again)
        kept = pi2_push(f, class_->spec->push_every) ? PI2_PUSHED : 0;
    *entry = (uint64_t)now << PI2_BOARD_SHIFT | kept;
    if (kept & PI2_PUSHED)
        packet.flags |= PI2_PSH;
    if (again && !class_->exact_ce) {
        packet.ecn = PI2_NOT_ECT; /* RFC 3168, section 6.1.5 */
    } else if (f->cwr_due && !again) {
        packet.flags |= PI2_CWR;
        f->cwr_due = 0;
    }
    if (pi2_has_transfers(class_) && segment + 1 == f->end)
        packet.flags |= PI2_LAST;
    pi2_link_begin(run, class_, &packet, now);
}

/* ns of each segment. */
static double pace_of(const pi2_flow *f, const pi2_congestion *cc)
{
    const int early = f->window.cwnd < f->window.ssthresh / 2;
    if (cc->pace)
        return cc->pace(f->state_of_cc, &f->window);
    return (double)f->window.srtt / f->window.cwnd / (early ? PI2_PACE_EARLY : 1);
}

/* How many of `room` new segments a paced flow may send now: what its pace lets pass in PI2_PACED_BURST_US, at least
 * one, and nothing before that time is over; one at a time by a pace of its own. Sets its timer if that is not all. */
static uint32_t let_pass(pi2_run *run, pi2_flow *f, uint32_t room, int64_t now)
{
    const pi2_congestion *cc = pi2_class_of(run, f)->spec->congestion;
    const double each = pace_of(f, cc);
    const double burst = cc->pace ? 1.0 : PI2_PACED_BURST_US * 1e3 / each;
    uint32_t passing = 0;
    if (now >= f->paced_until) {
        passing = burst >= room ? room : burst > 1.0 ? (uint32_t)burst : 1;
        f->paced_until = now + (int64_t)(passing * each + 0.5);
    }
    if (passing < room && f->timers[PI2_PACING_TIMER].deadline != f->paced_until)
        pi2_timer_set(&run->timers, &f->timers[PI2_PACING_TIMER], f->paced_until);
    return passing;
}

/* New segments while the window has room, and the pace of a paced flow allows. */
void pi2_send_new(pi2_run *run, pi2_flow *f, int64_t now)
{
    const uint32_t flight = pi2_in_flight(f), window = f->window.cwnd;
    const pi2_class *class_ = pi2_class_of(run, f);
    uint32_t room = window > flight ? window - flight : 0;
    if (room && pi2_has_transfers(class_) && room > f->end - f->window.next)
        room = f->end - f->window.next;
    if (room && class_->spec->paced)
        room = let_pass(run, f, room, now);
    if (pi2_in_reduction(f))
        f->prr_sent += room;
    for (; room; room--) {
        if (!pi2_board_room(f)) {
            run->no_memory = 1;
            return;
        }
        pi2_transmit(run, f, f->window.next++, 0, now);
    }
}

/* What was lost, oldest first, while the window has room. */
void pi2_send_again(pi2_run *run, pi2_flow *f, int64_t now)
{
    uint32_t segment = f->hint;
    int head = 0;
    if ((int32_t)(segment - f->window.una) < 0)
        segment = f->window.una;
    for (; f->lost > 0 && segment != f->window.next && pi2_in_flight(f) < f->window.cwnd; segment++) {
        const uint64_t entry = *pi2_board(f, segment);
        if ((entry & (PI2_LOST | PI2_RETRANSMITTED)) != PI2_LOST)
            continue;
        if (!pi2_again_room(f)) {
            run->no_memory = 1;
            return;
        }
        pi2_send_one_again(run, f, segment, now);
        if (pi2_in_reduction(f))
            f->prr_sent++;
        head |= segment == f->window.una;
    }
    f->hint = segment;
    if (head && f->timer != PI2_TIMER_REORDER) {
        f->timer = PI2_TIMER_IDLE;
        pi2_arm_rto(run, f, now);
    }
}

void pi2_send_one_again(pi2_run *run, pi2_flow *f, uint32_t segment, int64_t now)
{
    f->again[(f->again_head + f->again_count++) & f->again_mask] = (pi2_retransmission){now, segment};
    f->retransmitted++;
    f->undo_left = f->undo_left < 0 ? 1 : f->undo_left + 1;
    if (f->first_retransmission == PI2_NEVER)
        f->first_retransmission = now / PI2_MS;
    pi2_class_of(run, f)->retransmissions++;
    pi2_transmit(run, f, segment, 1, now);
}
