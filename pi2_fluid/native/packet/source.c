/* A source sends bursts (of one packet, as a rule) as a clock says that stands still during its pauses: so the mean rate
 * is the bursts' times the part of time in which it sends. Random numbers are those of the flow's stream, behind that
 * which says when it starts. */
#include "packet/source.h"

#include "packet/core/limits.h"
#include "packet/run/link.h"
#include "packet/run/statistics.h"
#include "packet/run/streams.h"

/* What a source remembers, where a sender has what its congestion control does. */
typedef struct {
    int64_t begun;   /* ns: when the first burst was due, later by all pauses since */
    int64_t due;     /* ns: when this burst was due */
    int64_t sends_to; /* ns: when it pauses next, PI2_NEVER */
    uint64_t bursts; /* so far */
    uint64_t drawn;  /* random numbers */
    uint32_t left;   /* bytes of this burst that are still to be sent */
} source;

_Static_assert(sizeof(source) <= PI2_CC_STATE_BYTES, "a source fits where congestion control would be");

static source *source_of(pi2_flow *f)
{
    return (source *)f->state_of_cc;
}

static int64_t draw_wait(const pi2_run *run, pi2_flow *f, double mean)
{
    const uint64_t key = pi2_stream_key(run->scenario.seed, PI2_STREAM_FLOWS + (uint64_t)pi2_number(run, f));
    return pi2_wait_of(mean, pi2_random(key, ++source_of(f)->drawn));
}

/* When the next burst is due. The k-th of an even source comes k intervals after the first, so that rounding to ns does
 * not add up. */
static int64_t next_burst(pi2_run *run, pi2_flow *f)
{
    const pi2_packet_class *spec = pi2_class_of(run, f)->spec;
    source *s = source_of(f);
    s->due = spec->poisson ? s->due + draw_wait(run, f, spec->interval)
                           : s->begun + (int64_t)((double)s->bursts * spec->interval + 0.5);
    while (s->due >= s->sends_to && s->due <= PI2_LONGEST) {
        const int64_t pause = draw_wait(run, f, spec->pause);
        s->begun += pause;
        s->due += pause;
        s->sends_to += pause + draw_wait(run, f, spec->sends);
    }
    if (s->due > PI2_LONGEST_SLOT) /* after the end of all runs: timers need not count further */
        s->due = PI2_LONGEST_SLOT;
    return s->due;
}

void pi2_source_start(pi2_run *run, pi2_flow *f, int64_t now)
{
    const pi2_packet_class *spec = pi2_class_of(run, f)->spec;
    f->life = PI2_ESTABLISHED;
    pi2_count_flow(run, f, 1, now);
    *source_of(f) = (source){.begun = now, .due = now, .sends_to = PI2_NEVER};
    if (spec->pause > 0.0)
        source_of(f)->sends_to = now + draw_wait(run, f, spec->sends);
    if (spec->poisson)
        pi2_timer_set(&run->timers, &f->timers[PI2_SENDER_TIMER], next_burst(run, f));
    else
        pi2_source_send(run, f, now);
}

/* A burst that leaves at its own pace may last until after the next one is due, which then follows it. */
void pi2_source_send(pi2_run *run, pi2_flow *f, int64_t now)
{
    const pi2_class *class_ = pi2_class_of(run, f);
    const pi2_packet_class *spec = class_->spec;
    const uint32_t most = (uint32_t)spec->packet_size;
    source *s = source_of(f);
    uint32_t bytes;
    int64_t next = now;
    if (!s->left) {
        s->left = spec->burst;
        s->bursts++;
    }
    bytes = spec->spacing > 0.0 && s->left > most ? most : s->left;
    s->left -= bytes;
    if (spec->spacing > 0.0)
        next += bytes * spec->spacing > 1.0 ? (int64_t)(bytes * spec->spacing + 0.5) : 1;
    if (!s->left && next_burst(run, f) > next)
        next = s->due;
    pi2_timer_set(&run->timers, &f->timers[PI2_SENDER_TIMER], next);
    while (bytes > 0) {
        pi2_packet packet = {
            .sent = now,
            .segment = f->window.next++,
            .flow = pi2_number(run, f),
            .bytes = (uint16_t)(bytes < most ? bytes : most),
            .ecn = (uint8_t)spec->ecn,
            .flags = PI2_UNRESPONSIVE,
        };
        bytes -= packet.bytes;
        pi2_link_begin(run, class_, &packet, now);
    }
}
