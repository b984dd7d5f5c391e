/* Connections: a SYN that is sent until it is answered, and an end at once; of transfers one for each. */
#include "packet/tcp/ends/connection.h"

#include <string.h>

#include "packet/run/link.h"
#include "packet/run/statistics.h"
#include "packet/run/transfers.h"
#include "packet/tcp/ends/sender_timer.h"
#include "packet/tcp/published.h"

static void send_syn(pi2_run *run, pi2_flow *f, int64_t now)
{
    pi2_packet packet = {.sent = now, .flow = pi2_number(run, f), .bytes = PI2_SYN_BYTES, .flags = PI2_SYN};
    if (packet.bytes > run->scenario.packet_size)
        packet.bytes = (uint16_t)run->scenario.packet_size;
    /* A sender that needs ECN counts on it from the first packet on (Linux: tcp_ca_needs_ecn; RFC 8311, section 4.3),
     * whatever became of that. */
    if (pi2_class_of(run, f)->spec->ecn == PI2_ECT1)
        packet.ecn = PI2_ECT1;
    pi2_arm(run, f, PI2_TIMER_RTO, f->rto, now);
    pi2_link_begin(run, pi2_class_of(run, f), &packet, now);
}

/* Both ends forget all they know but their memory, and the numbers of segments go on: what is still under way of the
 * transfer before lies behind, and was sent before this one was opened. */
static void begin_transfer(pi2_run *run, pi2_flow *f, int64_t now)
{
    const uint32_t first = f->end;
    pi2_flow new = {.class_ = f->class_, .counted = f->counted, .departed = f->departed, .begun = f->begun,
                    .board = f->board, .board_mask = f->board_mask, .log = f->log, .log_mask = f->log_mask,
                    .again = f->again, .again_mask = f->again_mask, .opened = now, .echo = now};
    memcpy(new.timers, f->timers, sizeof new.timers);
    new.window.una = new.window.next = new.expected = new.acknowledged = first;
    new.high = new.hint = new.walked = new.duplicates_from = first;
    *f = new;
    pi2_transfer_begin(run, f, now);
}

void pi2_flow_open(pi2_run *run, pi2_flow *f, int64_t now)
{
    if (pi2_has_transfers(pi2_class_of(run, f)))
        begin_transfer(run, f, now);
    if (!f->board) {
        f->board = f->first_board;
        f->board_mask = PI2_FIRST_BOARD - 1;
    }
    f->life = PI2_CONNECTING;
    f->rto = PI2_RTO_INITIAL_MS;
    f->retries = 0;
    f->unmarkable = 0;
    f->rack_sent = now; /* of the first SYN */
    f->last_arrival = -1;
    f->first_retransmission = PI2_NEVER;
    f->window.min_rtt = PI2_NEVER;
    send_syn(run, f, now);
}

/* No answer: the SYN is sent again, at first after as long, later each time after twice as long. It may have been lost
 * for asking for ECN, and does so no more (RFC 3168, section 6.1.1.1), although it may still be ECN-capable itself. Who
 * cannot do without exact marks insists, or becomes another one (Linux: DCTCP is Reno then). */
void pi2_flow_retry(pi2_run *run, pi2_flow *f, int64_t now)
{
    pi2_class *class_ = pi2_class_of(run, f);
    class_->timeouts++;
    f->unmarkable = class_->spec->ecn != PI2_NOT_ECT && (!class_->exact_ce || class_->spec->congestion->without_ecn);
    if (++f->retries > PI2_SYN_LINEAR_TIMEOUTS)
        f->rto = 2 * f->rto < PI2_RTO_MAX_MS ? 2 * f->rto : PI2_RTO_MAX_MS;
    send_syn(run, f, now);
}

static void fall_silent(pi2_run *run, pi2_flow *f, int64_t now)
{
    for (int kind = 0; kind < PI2_TIMERS_EACH; kind++)
        pi2_timer_stop(&f->timers[kind]);
    if (f->life == PI2_ESTABLISHED) {
        f->window.cwnd = 0;
        pi2_count_window(run, f, now);
        pi2_count_flow(run, f, -1, now);
    }
}

void pi2_flow_finish(pi2_run *run, pi2_flow *f, int64_t now)
{
    pi2_class *class_ = pi2_class_of(run, f);
    fall_silent(run, f, now);
    f->life = PI2_PAUSED;
    pi2_transfer_end(run, f, now);
    if (pi2_transfers_arrive(class_))
        class_->free[class_->free_count++] = pi2_number(run, f);
    else
        pi2_timer_set(&run->timers, &f->timers[PI2_SENDER_TIMER], now + pi2_transfer_idle(run, f));
}

/* At once and for good: what is under way is neither acknowledged nor missed. */
void pi2_flow_close(pi2_run *run, pi2_flow *f, int64_t now)
{
    fall_silent(run, f, now);
    f->life = PI2_STOPPED;
    pi2_flow_free(f);
}
