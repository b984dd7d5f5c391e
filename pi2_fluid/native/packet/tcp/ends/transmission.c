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

/* ns of each segment. The rate is that of packets with their headers, and what is sent is counted without. */
static double pace_of(const pi2_flow *f, const pi2_congestion *cc)
{
    const int early = f->window.cwnd < f->window.ssthresh / 2;
    if (cc->pace)
        return cc->pace(f->state_of_cc, &f->window);
    return (double)f->window.srtt / f->window.cwnd / (early ? PI2_PACE_EARLY : 1) * (1e3 / PI2_PACE_PER_MILLE);
}

/* Segments, at least one, that leave at once where there is room for them. */
static double burst_of(const pi2_packet_class *spec, const pi2_congestion *cc, double each)
{
    const double carried = cc->pace ? 1.0 : PI2_PACED_BURST_US * 1e3 / each;
    return carried < spec->paced ? spec->paced : carried;
}

/* Room for less than a burst waits for acknowledgements that make more, unless it is a good part of the window. */
static int waits_for_more(const pi2_flow *f, uint32_t room, double burst)
{
    return room + 1.0 <= burst && room < f->window.cwnd / PI2_BURST_PARTS && f->state < PI2_RECOVERY;
}

/* How many of `room` new segments a paced flow may send now: a burst, and nothing before the time is over that it took.
 * `last`: there are no more. Who was kept by the window makes up for it, by half of that time at most. Sets the timer
 * if room is left. */
static uint32_t let_pass(pi2_run *run, pi2_flow *f, uint32_t room, int last, int64_t now)
{
    const pi2_packet_class *spec = pi2_class_of(run, f)->spec;
    const pi2_congestion *cc = pi2_control_of(spec, f);
    const double each = pace_of(f, cc), burst = burst_of(spec, cc, each);
    uint32_t passing = 0;
    if (now >= f->paced_until) {
        const int64_t late = now - f->paced_until;
        int64_t taken;
        if (!last && waits_for_more(f, room, burst))
            return 0;
        passing = burst >= room ? room : (uint32_t)burst;
        taken = (int64_t)(passing * each + 0.5);
        if (!cc->pace)
            taken -= late < taken / 2 ? late : taken / 2;
        f->paced_until = now + taken;
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
    int last = 0;
    if (room && pi2_has_transfers(class_) && room >= f->end - f->window.next) {
        room = f->end - f->window.next;
        last = 1;
    }
    if (room && class_->spec->paced)
        room = let_pass(run, f, room, last, now);
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
