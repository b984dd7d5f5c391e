/* The sender: what it sends, and what it learns from an acknowledgement. Selective acknowledgements (RFC 2018, 6675)
 * are exact here: an acknowledgement says how far the receiver's log of arrivals has come, and the sender reads it. */
#include "packet/tcp/jiffies.h"
#include "packet/tcp/rtt.h"
#include "packet/core/run.h"

enum { SYN_BYTES = 74 };

/* What an acknowledgement says about the round trip: when the segments were sent that it covers, first and last. */
typedef struct {
    int64_t first, last;    /* ns: acknowledged in order and never retransmitted, PI2_NEVER: none */
    int64_t first_sacked, last_sacked;
    int ambiguous;          /* some of them were retransmitted */
} samples;

static void send_syn(pi2_run *run, pi2_flow *f, int64_t now)
{
    pi2_packet packet = {
        .sent = now, .flow = pi2_number(run, f), .bytes = SYN_BYTES, .class_ = f->class_, .flags = PI2_SYN};
    if (packet.bytes > run->scenario.packet_size)
        packet.bytes = (uint16_t)run->scenario.packet_size;
    f->timer = PI2_TIMER_RTO;
    pi2_timer_set(&run->timers, &f->timers[PI2_SENDER_TIMER], pi2_jiffy_timer(now, f->rto));
    pi2_link_send(run, &packet, now);
}

void pi2_flow_open(pi2_run *run, pi2_flow *f, int64_t now)
{
    f->life = PI2_CONNECTING;
    f->board = f->first_board;
    f->board_mask = PI2_FIRST_BOARD - 1;
    f->rto = PI2_RTO_INITIAL_MS;
    f->last_arrival = -1;
    f->first_retransmission = PI2_NEVER;
    f->window.min_rtt = PI2_NEVER;
    send_syn(run, f, now);
}

/* No answer: the SYN is sent again, each time after twice as long. */
void pi2_flow_retry(pi2_run *run, pi2_flow *f, int64_t now)
{
    pi2_class_of(run, f)->timeouts++;
    f->rto = 2 * f->rto < PI2_RTO_MAX_MS ? 2 * f->rto : PI2_RTO_MAX_MS;
    send_syn(run, f, now);
}

/* At once and for good: what is under way is neither acknowledged nor missed. */
void pi2_flow_close(pi2_run *run, pi2_flow *f, int64_t now)
{
    for (int kind = 0; kind < PI2_TIMERS_EACH; kind++)
        pi2_timer_stop(&f->timers[kind]);
    if (f->life == PI2_ESTABLISHED) {
        f->window.cwnd = 0;
        pi2_count_window(run, f, now);
        pi2_count_flow(run, f, -1, now);
    }
    f->life = PI2_STOPPED;
    pi2_flow_free(f);
}

/* Sending */

void pi2_transmit(pi2_run *run, pi2_flow *f, uint32_t segment, int again, int64_t now)
{
    const pi2_class *class_ = pi2_class_of(run, f);
    pi2_packet packet = {
        .sent = now,
        .segment = segment,
        .flow = pi2_number(run, f),
        .bytes = (uint16_t)run->scenario.packet_size,
        .class_ = f->class_,
        .ecn = (uint8_t)class_->spec->ecn,
    };
    uint64_t *entry = pi2_board(f, segment);
    const uint64_t kept = again ? (*entry & 0xff) | PI2_EVER | PI2_RETRANSMITTED : 0;
    *entry = (uint64_t)now << PI2_BOARD_SHIFT | kept;
    if (again && !class_->exact_ce) {
        packet.ecn = PI2_NOT_ECT; /* RFC 3168, section 6.1.5 */
    } else if (f->cwr_due && !again) {
        packet.flags = PI2_CWR;
        f->cwr_due = 0;
    }
    pi2_link_send(run, &packet, now);
}

/* New segments while the window has room. */
static void send_new(pi2_run *run, pi2_flow *f, int64_t now)
{
    const uint32_t flight = pi2_in_flight(f), window = f->window.cwnd;
    uint32_t room = window > flight ? window - flight : 0;
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

/* Learning */

static void sack(pi2_flow *f, uint32_t segment, pi2_news *news, samples *found, int64_t now)
{
    uint64_t *entry = pi2_board(f, segment);
    const uint64_t e = *entry;
    if ((int32_t)(segment - f->window.una) < 0 || e & PI2_SACKED)
        return;
    if (e & PI2_RETRANSMITTED) {
        if (e & PI2_LOST) {
            f->lost--;
            f->retransmitted--;
            *entry &= ~(uint64_t)(PI2_LOST | PI2_RETRANSMITTED);
        }
    } else {
        if (!(e & PI2_EVER)) {
            if ((int32_t)(segment + 1 - f->high) <= 0)
                news->flags |= PI2_ORIGINAL;
            if (found->first_sacked == PI2_NEVER)
                found->first_sacked = pi2_sent_at(e);
            found->last_sacked = pi2_sent_at(e);
        }
        if (e & PI2_LOST) {
            f->lost--;
            *entry &= ~(uint64_t)PI2_LOST;
        }
    }
    *entry |= PI2_SACKED;
    f->sacked++;
    news->delivered++;
    news->flags |= PI2_NEWLY_SACKED;
    pi2_rack_delivered(f, e, segment, now);
}

/* Everything before `next` has arrived. */
static void acknowledge(pi2_flow *f, uint32_t next, pi2_news *news, samples *found, int64_t now)
{
    for (uint32_t segment = f->window.una; segment != next; segment++) {
        const uint64_t e = *pi2_board(f, segment);
        if (e & PI2_EVER) {
            f->retransmitted -= (e & PI2_RETRANSMITTED) != 0;
            found->ambiguous = 1;
        } else if (!(e & PI2_SACKED)) {
            found->last = pi2_sent_at(e);
            if (found->first == PI2_NEVER)
                found->first = found->last;
            if ((int32_t)(segment + 1 - f->high) <= 0)
                news->flags |= PI2_ORIGINAL;
        }
        if (e & PI2_SACKED) {
            f->sacked--;
        } else {
            news->delivered++;
            pi2_rack_delivered(f, e, segment, now);
        }
        f->lost -= (e & PI2_LOST) != 0;
    }
    f->window.una = next;
    f->retries = 0;
    news->flags |= PI2_ADVANCED;
}

/* Karn's rule: a retransmitted segment says nothing, unless its time stamp does (whole ms). */
static void measure(pi2_run *run, pi2_flow *f, const pi2_news *news, const samples *found, int64_t echo, int64_t now)
{
    const pi2_packet_class *spec = pi2_class_of(run, f)->spec;
    int64_t first = -1, last = -1;
    if (found->first != PI2_NEVER && !found->ambiguous) {
        first = now - found->first;
        last = now - found->last;
    } else if (found->first_sacked != PI2_NEVER) {
        first = now - found->first_sacked;
        last = now - found->last_sacked;
    } else if (news->flags & PI2_ADVANCED) {
        first = (now / PI2_MS - echo / PI2_MS) * PI2_MS;
        if (first < PI2_MS)
            first = PI2_MS;
        last = first;
    }
    if (first < 0)
        return;
    if (last < f->window.min_rtt)
        f->window.min_rtt = last;
    pi2_rtt_sample(f, first / 1000);
    if (spec->congestion->sample && news->flags & PI2_ADVANCED)
        spec->congestion->sample(spec->parameters, f->state_of_cc, &f->window, news->delivered, last, now);
}

/* Whether an acknowledgement needs a second look. */
static int dubious(const pi2_flow *f, const pi2_news *news)
{
    return f->state != PI2_OPEN || !(news->flags & PI2_ADVANCED)
           || news->flags & (PI2_NEWLY_SACKED | PI2_ECE | PI2_DUPLICATE);
}

/* Retransmissions, new segments, and the timer that follows from what is out now. */
static void send_on(pi2_run *run, pi2_flow *f, int rexmit, int restart, int64_t now)
{
    const uint32_t outstanding = pi2_outstanding(f), next = f->window.next;
    if (rexmit == PI2_SEND_NEW) {
        send_new(run, f, now);
        if ((int32_t)(f->window.next - f->high) <= 0)
            f->frto = 0;
    }
    if (rexmit == PI2_RESEND_LOST || (rexmit == PI2_SEND_NEW && !f->frto))
        pi2_send_again(run, f, now);
    send_new(run, f, now);
    if (f->window.next != next && pi2_arm_probe(run, f, 0, now))
        return;
    if (restart && !pi2_arm_probe(run, f, 1, now))
        pi2_arm_rto(run, f, now);
    if (f->window.next != next && (outstanding == 0 || f->timer == PI2_TIMER_PROBE))
        pi2_arm_rto(run, f, now);
}

static void establish(pi2_run *run, pi2_flow *f, const pi2_ack *ack, int64_t now)
{
    pi2_class *class_ = pi2_class_of(run, f);
    const int64_t rtt = now - ack->echo;
    if (f->life != PI2_CONNECTING)
        return;
    f->life = PI2_ESTABLISHED;
    f->timer = PI2_TIMER_IDLE;
    f->window.cwnd = class_->spec->initial_window;
    f->window.ssthresh = class_->spec->slow_start ? PI2_NO_THRESHOLD : f->window.cwnd;
    f->window.min_rtt = rtt;
    pi2_rtt_sample(f, rtt / 1000);
    class_->spec->congestion->begin(class_->spec->parameters, f->state_of_cc, &f->window);
    pi2_count_window(run, f, now);
    pi2_count_flow(run, f, 1, now);
    send_new(run, f, now);
    pi2_arm_probe(run, f, 0, now);
}

void pi2_on_ack(pi2_run *run, pi2_flow *f, const pi2_ack *ack, int64_t now)
{
    const pi2_class *class_ = pi2_class_of(run, f);
    const pi2_congestion *cc = class_->spec->congestion;
    pi2_news news = {0};
    samples found = {PI2_NEVER, PI2_NEVER, PI2_NEVER, PI2_NEVER, 0};
    int rexmit = PI2_NOTHING_LOST, restart;
    if (ack->flags & PI2_ACK_SYN) {
        establish(run, f, ack, now);
        return;
    }
    if (f->life != PI2_ESTABLISHED)
        return;
    if (ack->flags & PI2_ACK_DUPLICATE) {
        news.flags |= PI2_DUPLICATE;
        if (f->may_undo && f->undo_left > 0 && (int32_t)(ack->duplicate - f->undo_from) >= 0)
            f->undo_left--;
    }
    while (f->log_read != ack->log)
        sack(f, f->log[f->log_read++ & f->log_mask], &news, &found, now);
    if (ack->next != f->window.una)
        acknowledge(f, ack->next, &news, &found, now);
    measure(run, f, &news, &found, ack->echo, now);
    if (cc->marks)
        cc->marks(class_->spec->parameters, f->state_of_cc, &f->window, news.delivered,
                  ack->flags & PI2_ACK_ECE ? news.delivered : 0);
    if (ack->flags & PI2_ACK_ECE && class_->reacts)
        news.flags |= PI2_ECE;
    if (f->probe_high && (int32_t)(f->window.una - f->probe_high) >= 0)
        f->probe_high = 0;
    if (dubious(f, &news))
        rexmit = pi2_react(run, f, &news, ack->echo, now);

    /* the timer starts anew with progress, or if the oldest segment was sent after what arrived */
    restart = !(news.flags & PI2_WAITS)
             && (news.flags & PI2_ADVANCED
                 || (found.first_sacked != PI2_NEVER && pi2_outstanding(f)
                     && pi2_sent_at(*pi2_board(f, f->window.una)) > found.first_sacked));
    if (restart && f->state != PI2_OPEN && f->state != PI2_REDUCED) {
        pi2_arm_rto(run, f, now);
        restart = 0;
    }
    if (pi2_in_reduction(f))
        pi2_reduce(f, &news);
    else if (news.flags & PI2_ADVANCED)
        cc->grow(class_->spec->parameters, f->state_of_cc, &f->window, news.delivered, now);
    send_on(run, f, rexmit, restart, now);
    pi2_count_window(run, f, now);
}
