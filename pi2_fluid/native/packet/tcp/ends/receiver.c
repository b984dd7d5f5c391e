/* The receiver: what it acknowledges, and when. RFC 5681, section 4.2, with Linux's rules where it leaves a choice:
 * quick acknowledgements at the beginning and after long gaps, an adaptive delay, and selective acknowledgements
 * that are thinned out while a hole stays open. */
#include "packet/tcp/ends/receiver.h"

#include "packet/run/link.h"
#include "packet/tcp/jiffies.h"
#include "packet/tcp/published.h"

/* Acknowledgements are delayed by PI2_ATO_MIN_MS to PI2_ATO_MAX_MS. PI2_QUICK_ACKS are sent at once at the beginning,
 * after a gap or a duplicate, PI2_QUICK_ACKS_FEW when marks begin or ECT ends. Of one hole
 * PI2_ACKS_BEFORE_COMPRESSION are sent before they are thinned out, and PI2_ACKS_COMPRESSED withheld at most. */

/* An acknowledgement on its way, all but its number of flow, log and echo still to be filled in; NULL: no memory. */
static pi2_ack *new_ack(pi2_run *run, pi2_flow *f, int64_t now)
{
    const pi2_class *class_ = pi2_class_of(run, f);
    pi2_ack *ack;
    if (class_->returns) {
        const uint32_t number = pi2_link_keep_ack(run);
        ack = number == UINT32_MAX ? NULL : run->returning + number;
    } else {
        ack = pi2_link_homeward(run, class_, now);
    }
    if (!ack)
        return NULL;
    ack->flow = pi2_number(run, f);
    ack->log = f->log_written;
    ack->echo = f->echo;
    return ack;
}

/* It is filled in: where it crosses links, it sets out. */
static void let_go(pi2_run *run, const pi2_flow *f, const pi2_ack *ack, int64_t now)
{
    const pi2_class *class_ = pi2_class_of(run, f);
    if (class_->returns)
        pi2_link_return(run, class_, (uint32_t)(ack - run->returning), now);
}

/* Of everything before `next`; `echo_ce` as it is to be told. */
static void send_ack(pi2_run *run, pi2_flow *f, uint32_t next, int echo_ce, int64_t now)
{
    pi2_ack *ack = new_ack(run, f, now);
    if (!ack)
        return;
    ack->next = next;
    ack->flags = echo_ce ? PI2_ACK_ECE : 0;
    let_go(run, f, ack, now);
}

/* What every acknowledgement ends, whatever made it due. */
static void acknowledged(pi2_flow *f)
{
    f->acknowledged = f->expected;
    if (f->ack_waits) {
        f->ack_waits = 0;
        pi2_timer_stop(&f->timers[PI2_DELAYED_ACK_TIMER]);
    }
    if (f->compressed) {
        f->compressed = 0;
        pi2_timer_stop(&f->timers[PI2_COMPRESSION_TIMER]);
    }
    if (f->quick && --f->quick == 0)
        f->ato = PI2_ATO_MIN_MS;
}

void pi2_acknowledge(pi2_run *run, pi2_flow *f, int64_t now)
{
    send_ack(run, f, f->expected, f->echo_ce, now);
    acknowledged(f);
}

static void acknowledge_duplicate(pi2_run *run, pi2_flow *f, uint32_t segment, int64_t now)
{
    pi2_ack *ack = new_ack(run, f, now);
    if (!ack)
        return;
    ack->next = f->expected;
    ack->duplicate = segment;
    ack->flags = PI2_ACK_DUPLICATE | (f->echo_ce ? PI2_ACK_ECE : 0);
    let_go(run, f, ack, now);
    acknowledged(f);
}

/* It fired: the delay was too short to catch a second segment, unless it was none. */
void pi2_delayed_ack(pi2_run *run, pi2_flow *f, int64_t now)
{
    const uint32_t twice = 2 * (uint32_t)f->ato;
    if (f->ack_waits == PI2_DELAYED)
        f->ato = (uint16_t)(twice < f->their_rto ? twice : f->their_rto);
    f->ack_waits = 0;
    pi2_acknowledge(run, f, now);
}

static void delay(pi2_run *run, pi2_flow *f, int64_t now)
{
    uint32_t ms = f->ato;
    if (ms > PI2_ATO_MIN_MS && ms > f->handshake)
        ms = f->handshake;
    if (ms > PI2_ATO_MAX_MS)
        ms = PI2_ATO_MAX_MS;
    f->ack_waits = PI2_DELAYED;
    pi2_timer_set(&run->timers, &f->timers[PI2_DELAYED_ACK_TIMER], pi2_jiffy_timer(now, ms));
}

/* The program reads all that has come, and waits for more: the sender may wait for the acknowledgement as well (Linux
 * since 6.6; after all packets of the same instant, which may have called for it themselves). */
static void read_all(pi2_run *run, pi2_flow *f, int64_t now)
{
    f->ack_waits = PI2_READ;
    pi2_timer_set(&run->timers, &f->timers[PI2_DELAYED_ACK_TIMER], now);
}

/* With a hole open: the first few at once, then one for each stretch of time. */
static void thin_out(pi2_run *run, pi2_flow *f, int64_t now)
{
    int64_t wait = f->window.srtt * PI2_COMPRESSION_PER_MILLE / 1000;
    if (f->duplicates_from != f->expected) {
        f->duplicates_from = f->expected;
        f->duplicates = 0;
    }
    if (f->duplicates < PI2_ACKS_BEFORE_COMPRESSION || f->compressed >= PI2_ACKS_COMPRESSED) {
        f->duplicates++;
        pi2_acknowledge(run, f, now);
        return;
    }
    if (f->compressed++ > 0)
        return;
    if (wait > PI2_COMPRESSION_MOST_US * 1000)
        wait = PI2_COMPRESSION_MOST_US * 1000;
    pi2_timer_set(&run->timers, &f->timers[PI2_COMPRESSION_TIMER], now + (wait > 0 ? wait : 1));
}

static void decide(pi2_run *run, pi2_flow *f, int at_once, int pushed, int64_t now)
{
    if (at_once || f->quick || f->expected - f->acknowledged > 1 || !pi2_class_of(run, f)->spec->delayed_ack)
        pi2_acknowledge(run, f, now);
    else if (f->holes)
        thin_out(run, f, now);
    else if (pushed)
        read_all(run, f, now);
    else
        delay(run, f, now);
}

static void be_quick(pi2_flow *f, uint8_t acks)
{
    if (f->quick < acks)
        f->quick = acks;
}

/* The receiver knows the round trip from the handshake alone: it sends nothing that would be acknowledged. Its timeout
 * is that of RFC 6298, (2.2), as far as the 16 bits of a delay hold it. */
static void first_segment(pi2_flow *f, int64_t now)
{
    const int64_t us = (now - f->syn_arrived) / 1000, margin = 2 * us > PI2_RTO_MIN_US ? 2 * us : PI2_RTO_MIN_US;
    const int64_t ms = (us + 999) / 1000, rto = (us + margin + 999) / 1000;
    f->handshake = (uint32_t)(ms > PI2_ATO_MIN_MS ? (ms < PI2_RTO_MAX_MS ? ms : PI2_RTO_MAX_MS) : PI2_ATO_MIN_MS);
    f->their_rto = (uint32_t)(rto < PI2_RTO_MAX_MS / 4 ? rto : PI2_RTO_MAX_MS / 4);
    be_quick(f, PI2_QUICK_ACKS);
    f->ato = PI2_ATO_MIN_MS;
}

/* The delay follows the gaps between segments in order. */
static void adapt(pi2_flow *f, int64_t now)
{
    const int64_t ms = now / PI2_MS, gap = ms - f->last_arrival;
    if (f->last_arrival < 0) {
        first_segment(f, now);
    } else if (gap <= PI2_ATO_MIN_MS / 2) {
        f->ato = (uint16_t)(f->ato / 2 + PI2_ATO_MIN_MS / 2);
    } else if (gap < f->ato) {
        const uint32_t ato = f->ato / 2 + (uint32_t)gap;
        f->ato = (uint16_t)(ato < f->their_rto ? ato : f->their_rto);
    } else if (gap > f->their_rto) {
        be_quick(f, PI2_QUICK_ACKS); /* the sender seems to have begun again */
    }
    f->last_arrival = ms;
}

/* Returns whether an acknowledgement is due at once. `before`: what was expected before this packet. */
static int see_ecn(pi2_run *run, pi2_flow *f, const pi2_packet *packet, uint32_t before, int64_t now)
{
    const int marked = packet->ecn == PI2_CE;
    if (pi2_class_of(run, f)->exact_ce) {
        if (f->echo_ce == marked)
            return 0;
        if (f->ack_waits) /* what came before was marked otherwise, and is told first */
            send_ack(run, f, before, f->echo_ce, now);
        f->echo_ce = (uint8_t)marked;
        return 1;
    }
    if (packet->ecn == PI2_NOT_ECT) {
        if (f->saw_ect)
            be_quick(f, PI2_QUICK_ACKS_FEW);
        return 0;
    }
    f->saw_ect = 1;
    if (marked && !f->echo_ce) {
        be_quick(f, PI2_QUICK_ACKS_FEW);
        f->echo_ce = 1;
    }
    return 0;
}

static void in_order(pi2_run *run, pi2_flow *f, const pi2_packet *packet, int at_once, int64_t now)
{
    const uint32_t before = f->expected;
    if (before == f->acknowledged)
        f->echo = packet->sent;
    f->expected++;
    adapt(f, now);
    at_once |= see_ecn(run, f, packet, before, now);
    if (f->holes) {
        while (f->holes && *pi2_board(f, f->expected) & PI2_ARRIVED) {
            f->expected++;
            f->holes--;
        }
        at_once |= f->holes == 0;
    }
    decide(run, f, at_once, packet->flags & PI2_PSH, now);
}

static void out_of_order(pi2_run *run, pi2_flow *f, const pi2_packet *packet, int at_once, int64_t now)
{
    if (!pi2_log_room(f)) {
        run->no_memory = 1;
        return;
    }
    *pi2_board(f, packet->segment) |= PI2_ARRIVED;
    f->holes++;
    f->log[f->log_written++ & f->log_mask] = packet->segment;
    at_once |= see_ecn(run, f, packet, f->expected, now);
    decide(run, f, at_once, 0, now);
}

void pi2_receive(pi2_run *run, const pi2_packet *packet, int64_t now)
{
    pi2_flow *f = run->flows + packet->flow;
    const int32_t ahead = (int32_t)(packet->segment - f->expected);
    int at_once = 0;
    if (f->life != PI2_CONNECTING && f->life != PI2_ESTABLISHED)
        return;
    if (ahead < 0 && packet->sent < f->opened) /* of the transfer before */
        return;
    if (packet->flags & PI2_SYN) {
        pi2_ack *ack = new_ack(run, f, now);
        f->syn_arrived = now;
        if (ack) {
            ack->echo = packet->sent;
            ack->flags = PI2_ACK_SYN;
            let_go(run, f, ack, now);
        }
        return;
    }
    if (packet->flags & (PI2_CWR | PI2_LAST)) {
        if (packet->flags & PI2_CWR && !pi2_class_of(run, f)->exact_ce)
            f->echo_ce = 0;
        at_once = 1; /* whatever the congestion control */
    }
    if (ahead == 0) {
        in_order(run, f, packet, at_once, now);
    } else if (ahead > 0 && !(*pi2_board(f, packet->segment) & PI2_ARRIVED)) {
        out_of_order(run, f, packet, at_once, now);
    } else {
        be_quick(f, PI2_QUICK_ACKS);
        f->ato = PI2_ATO_MIN_MS;
        acknowledge_duplicate(run, f, packet->segment, now);
    }
}
