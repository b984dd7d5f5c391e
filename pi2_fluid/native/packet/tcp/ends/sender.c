/* The sender: what it learns from an acknowledgement, and does then. Selective acknowledgements (RFC 2018, 6675)
 * are exact here: an acknowledgement says how far the receiver's log of arrivals has come, and the sender reads it. */
#include "packet/tcp/ends/sender.h"

#include "packet/run/statistics.h"
#include "packet/run/transfers.h"
#include "packet/tcp/ends/connection.h"
#include "packet/tcp/ends/push.h"
#include "packet/tcp/ends/rack.h"
#include "packet/tcp/ends/recovery.h"
#include "packet/tcp/ends/sender_timer.h"
#include "packet/tcp/ends/transmission.h"
#include "packet/tcp/rtt.h"

/* What an acknowledgement says about the round trip: when the segments were sent that it covers, first and last. */
typedef struct {
    int64_t first, last;    /* ns: acknowledged in order and never retransmitted, PI2_NEVER: none */
    int64_t first_sacked, last_sacked;
    int ambiguous;          /* some of them were retransmitted */
} samples;

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
    if ((int32_t)(next - f->refill) >= 0)
        pi2_push_written(f);
    f->retries = 0;
    news->flags |= PI2_ADVANCED;
}

/* Karn's rule: a retransmitted segment says nothing, unless its time stamp does (whole ms). */
static void measure(pi2_run *run, pi2_flow *f, const pi2_news *news, const samples *found, int64_t echo, int64_t now)
{
    const pi2_packet_class *spec = pi2_class_of(run, f)->spec;
    const pi2_congestion *cc = pi2_control_of(spec, f);
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
    if (cc->sample && news->flags & PI2_ADVANCED)
        cc->sample(pi2_parameters_of(spec, f), f->state_of_cc, &f->window, news->delivered, last, now);
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
        pi2_send_new(run, f, now);
        if ((int32_t)(f->window.next - f->high) <= 0)
            f->frto = 0;
    }
    if (rexmit == PI2_RESEND_LOST || (rexmit == PI2_SEND_NEW && !f->frto))
        pi2_send_again(run, f, now);
    pi2_send_new(run, f, now);
    if (f->window.next != next && pi2_arm_probe(run, f, 0, now))
        return;
    if (restart && !pi2_arm_probe(run, f, 1, now))
        pi2_arm_rto(run, f, now);
    if (f->window.next != next && (outstanding == 0 || f->timer == PI2_TIMER_PROBE))
        pi2_arm_rto(run, f, now);
}

void pi2_on_pace(pi2_run *run, pi2_flow *f, int64_t now)
{
    send_on(run, f, PI2_NOTHING_LOST, 0, now);
}

static void establish(pi2_run *run, pi2_flow *f, const pi2_ack *ack, int64_t now)
{
    pi2_class *class_ = pi2_class_of(run, f);
    const int64_t rtt = now - ack->echo;
    if (f->life != PI2_CONNECTING)
        return;
    f->life = PI2_ESTABLISHED;
    f->timer = PI2_TIMER_IDLE;
    if (ack->echo == f->rack_sent) /* it was not lost, but late */
        f->retries = f->unmarkable = 0;
    /* RFC 5681, section 3.1; Linux forgives one loss: tcp_init_transfer */
    f->window.cwnd = f->retries > 1 ? 1 : class_->spec->initial_window;
    f->window.ssthresh = class_->spec->slow_start ? PI2_NO_THRESHOLD : class_->spec->initial_window;
    f->retries = 0;
    f->rack_sent = 0;
    f->window.min_rtt = rtt;
    pi2_rtt_sample(f, rtt / 1000);
    pi2_control_of(class_->spec, f)->begin(pi2_parameters_of(class_->spec, f), f->state_of_cc, &f->window, now);
    pi2_count_window(run, f, now);
    pi2_count_flow(run, f, 1, now);
    pi2_push_begin(f, class_->spec->push_every, class_->spec->packet_size);
    pi2_send_new(run, f, now);
    pi2_arm_probe(run, f, 0, now);
}

void pi2_on_ack(pi2_run *run, pi2_flow *f, const pi2_ack *ack, int64_t now)
{
    const pi2_class *class_ = pi2_class_of(run, f);
    const pi2_congestion *cc = pi2_control_of(class_->spec, f);
    const double *parameters = pi2_parameters_of(class_->spec, f);
    pi2_news news = {0};
    samples found = {PI2_NEVER, PI2_NEVER, PI2_NEVER, PI2_NEVER, 0};
    int rexmit = PI2_NOTHING_LOST, restart;
    if (ack->echo < f->opened) /* of the transfer before */
        return;
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
    if (pi2_has_transfers(class_) && f->window.una == f->end) {
        pi2_flow_finish(run, f, now);
        return;
    }
    measure(run, f, &news, &found, ack->echo, now);
    if (cc->marks)
        cc->marks(parameters, f->state_of_cc, &f->window, news.delivered,
                  ack->flags & PI2_ACK_ECE ? news.delivered : 0, now);
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
        cc->grow(parameters, f->state_of_cc, &f->window, news.delivered, now);
    send_on(run, f, rexmit, restart, now);
    pi2_count_window(run, f, now);
}
