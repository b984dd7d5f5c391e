/* RACK (RFC 8985): a segment is lost when one sent later has arrived, and a round trip and a bit have passed. */
#include "packet/tcp/ends/rack.h"

#include "packet/tcp/ends/sender_timer.h"
#include "packet/tcp/published.h"

/* The segment sent last among those delivered tells which others are late. */
void pi2_rack_delivered(pi2_flow *f, uint64_t entry, uint32_t segment, int64_t now)
{
    const int64_t sent = pi2_sent_at(entry), rtt = now - sent;
    if (entry & PI2_EVER && rtt < f->window.min_rtt)
        return; /* rather its first transmission arrived */
    f->rack_moved = 1;
    f->rack_rtt = rtt;
    if (sent > f->rack_sent || (sent == f->rack_sent && (int32_t)(segment - f->rack_segment) > 0)) {
        f->rack_sent = sent;
        f->rack_segment = segment;
    }
}

void pi2_mark_lost(pi2_flow *f, uint32_t segment, pi2_news *news)
{
    uint64_t *entry = pi2_board(f, segment);
    if (*entry & PI2_RETRANSMITTED) {
        *entry &= ~(uint64_t)PI2_RETRANSMITTED;
        f->retransmitted--;
    }
    if (!(*entry & PI2_LOST)) {
        *entry |= PI2_LOST;
        f->lost++;
    }
    if ((int32_t)(segment - f->hint) < 0)
        f->hint = segment;
    news->newly_lost++;
}

static int sent_before_rack(const pi2_flow *f, int64_t sent, uint32_t segment)
{
    return f->rack_sent > sent || (f->rack_sent == sent && (int32_t)(f->rack_segment - segment) > 0);
}

/* How much later than the round trip a segment may be because packets overtook each other. */
static int64_t reordering_window(const pi2_flow *f)
{
    const int64_t quarter = f->window.min_rtt / PI2_RACK_PARTS;
    if (f->state >= PI2_RECOVERY || f->sacked >= PI2_DUPTHRESH)
        return 0;
    return quarter < f->window.srtt ? quarter : f->window.srtt;
}

/* Judges one transmission; returns 1 and the ns until it is late if it is not yet. */
static int judge(pi2_flow *f, uint32_t segment, int64_t sent, int64_t allowed, pi2_news *news, int64_t *wait,
                 int64_t now)
{
    const int64_t left = allowed - (now - sent);
    if (left <= 0) {
        pi2_mark_lost(f, segment, news);
        return 0;
    }
    if (left > *wait)
        *wait = left;
    return 1;
}

static const pi2_retransmission *again_at(const pi2_flow *f, uint32_t i)
{
    return f->again + ((f->again_head + i) & f->again_mask);
}

/* Whether it is the last transmission of its segment, and neither arrived nor counts as lost. */
static int under_way(const pi2_flow *f, const pi2_retransmission *r)
{
    const uint64_t e = (int32_t)(r->segment - f->window.una) >= 0 ? *pi2_board(f, r->segment) : 0;
    return (e & (PI2_RETRANSMITTED | PI2_SACKED)) == PI2_RETRANSMITTED && pi2_sent_at(e) == r->sent;
}

/* First transmissions in the order of segments, which is that of sending; then retransmissions in theirs. Returns the
 * ns after which to look again, 0 if there is no need. */
int64_t pi2_late_segments(pi2_flow *f, pi2_news *news, int64_t now)
{
    const int64_t allowed = f->rack_rtt + reordering_window(f);
    int64_t wait = 0;
    uint32_t segment = (int32_t)(f->walked - f->window.una) < 0 ? f->window.una : f->walked;
    int doubt = 0;
    for (; segment != f->window.next; segment++) {
        const uint64_t e = *pi2_board(f, segment);
        if (!(e & (PI2_SACKED | PI2_LOST | PI2_EVER))) {
            if (!sent_before_rack(f, pi2_sent_at(e), segment))
                break;
            doubt |= judge(f, segment, pi2_sent_at(e), allowed, news, &wait, now);
        }
        if (!doubt)
            f->walked = segment + 1;
    }
    while (f->again_count && !under_way(f, again_at(f, 0))) {
        f->again_head++;
        f->again_count--;
    }
    for (uint32_t i = 0; i < f->again_count; i++) {
        const pi2_retransmission *r = again_at(f, i);
        if (!under_way(f, r))
            continue;
        if (!sent_before_rack(f, r->sent, r->segment))
            break;
        judge(f, r->segment, r->sent, allowed, news, &wait, now);
    }
    return wait;
}

void pi2_look_for_losses(pi2_run *run, pi2_flow *f, pi2_news *news, int64_t now)
{
    const uint32_t before = f->retransmitted;
    int64_t wait;
    if (!f->rack_moved)
        return;
    f->rack_moved = 0;
    wait = pi2_late_segments(f, news, now);
    if (wait > 0) {
        pi2_arm_reorder(run, f, wait, now);
        news->flags |= PI2_WAITS;
    }
    if (before > f->retransmitted)
        news->flags |= PI2_LOST_AGAIN;
}
