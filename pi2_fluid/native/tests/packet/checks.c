/* What was counted must add up, and lie where it can. */
#include "tests/packet/checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int equal(const char *what, int leg, double a, double b)
{
    if (a == b)
        return 1;
    printf("leg %d, %s: %.17g is not %.17g\n", leg, what, a, b);
    return 0;
}

static int within(const char *what, double value, double low, double high)
{
    if (value >= low && value <= high)
        return 1;
    printf("%s = %.17g lies outside [%.17g, %.17g]\n", what, value, low, high);
    return 0;
}

/* A class at a link of its route. */
typedef struct {
    int number;
    const pi2_packet_class *class_;
    uint32_t link;
    int first, last;
} leg;

enum { LEGS = PI2_TEST_CLASSES * PI2_TEST_LINKS };

/* Returns how many there are. */
static int list_legs(const pi2_test_scenario *s, leg *legs)
{
    int count = 0;
    for (int i = 0; i < s->problem.class_count; i++) {
        const pi2_packet_class *class_ = s->problem.classes + i;
        for (uint32_t k = 0; k < class_->route_length; k++, count++)
            legs[count] = (leg){count, class_, class_->route[k], k == 0, k + 1 == class_->route_length};
        for (uint32_t k = 0; k < class_->back_length; k++, count++)
            legs[count] = (leg){count, class_, class_->back[k], k == 0, 0};
    }
    return count;
}

static double column(const pi2_packet_outcome *o, int leg, int which)
{
    double sum = 0.0;
    for (int64_t i = 0; i < o->bins; i++)
        sum += o->leg_rows[(i * o->legs + leg) * PI2_LEG_COLUMNS + which];
    return sum;
}

static double segments(const pi2_packet_outcome *o)
{
    double sum = 0.0;
    for (int64_t i = 0; i < o->blocks * o->flows; i++)
        sum += o->delivered[i];
    return sum;
}

static double delayed(const pi2_packet_outcome *o, int leg)
{
    uint64_t sum = 0;
    for (int64_t block = 0; block < o->blocks; block++) {
        const pi2_delays *const of = o->delays + block;
        for (uint32_t i = 0; i < of->buckets; i++)
            sum += of->counts[(uint32_t)leg * of->buckets + i];
    }
    return (double)sum;
}

static int64_t marks(const int64_t *totals)
{
    return totals[PI2_MARK_AQM] + totals[PI2_MARK_STEP];
}

static int64_t drops(const int64_t *totals)
{
    return totals[PI2_DROP_AQM] + totals[PI2_DROP_FULL] + totals[PI2_DROP_OVERLOAD];
}

/* What comes to a link goes on or is somewhere, and what goes on comes to the next. */
static int conserved(const pi2_packet_outcome *o, const leg *l)
{
    const int64_t *t = o->leg_totals + l->number * PI2_LEG_TOTALS;
    for (int i = 0; i < PI2_LEG_TOTALS; i++)
        if (t[i] < 0)
            return within("a total", (double)t[i], 0, INFINITY);
    return equal("sent", l->number, (double)t[PI2_SENT],
                 (double)(t[PI2_DELIVERED] + drops(t) + t[PI2_LOST_BEHIND] + t[PI2_TOTAL_QUEUED]
                          + t[PI2_TOTAL_IN_FLIGHT]))
           && within("marks", (double)marks(t), 0, (double)t[PI2_SENT])
           && (l->first
               || equal("came from the link before", l->number, (double)t[PI2_SENT],
                        (double)t[PI2_DELIVERED - PI2_LEG_TOTALS]));
}

/* Rows of bins against totals, which agree once the last bin is over. */
static int adds_up(const pi2_test_scenario *s, const pi2_packet_outcome *o, const leg *l)
{
    const int64_t *t = o->leg_totals + l->number * PI2_LEG_TOTALS;
    const double departures = column(o, l->number, PI2_LEG_DEPARTURES), bits = column(o, l->number, PI2_LEG_BITS);
    const double least = l->class_->congestion ? 64 : 1; /* what is left of a burst is a packet, too */
    const double in_service = fmax(fmax(1.0, s->specs[l->link].aggregate), s->specs[l->link].ring);
    return equal("arrivals", l->number, column(o, l->number, PI2_LEG_ARRIVALS), (double)t[PI2_SENT])
           && equal("drops", l->number, column(o, l->number, PI2_LEG_DROPS), (double)drops(t))
           && equal("marks", l->number, column(o, l->number, PI2_LEG_MARKS), (double)marks(t))
           && equal("delays", l->number, delayed(o, l->number), departures)
           && within("bits", bits, 0, 8.0 * fmax(l->class_->packet_size, 74) * departures)
           && within("bits", bits, 8.0 * least * (departures - in_service), INFINITY)
           && within("sojourn", column(o, l->number, PI2_LEG_SOJOURN), 0, departures * (double)s->problem.duration);
}

static int sound_backlog(const double *row, double full)
{
    return within("mean backlog", row[PI2_BAND_BYTES], 0, full * (1 + 1e-9))
           && within("its square", row[PI2_BAND_SQUARE], row[PI2_BAND_BYTES] * row[PI2_BAND_BYTES] * (1 - 1e-9),
                     full * full * (1 + 1e-9));
}

static int sound_backlogs(const pi2_test_scenario *s, const pi2_packet_outcome *o)
{
    const double *row = o->band_rows;
    for (int64_t i = 0; i < o->bins; i++)
        for (int link = 0; link < o->links; link++) {
            const double full = (double)s->specs[link].buffer * s->problem.packet_size;
            for (int band = 0; band < s->specs[link].qdisc->bands; band++, row += PI2_BAND_COLUMNS)
                if (!sound_backlog(row, full))
                    return 0;
        }
    return equal("rows of bands", -1, (double)(row - o->band_rows), (double)(o->bins * o->bands * PI2_BAND_COLUMNS));
}

static int sound_rows(const pi2_test_scenario *s, const pi2_packet_outcome *o)
{
    for (int64_t i = 0; i < o->bins * o->classes; i++) {
        const double *row = o->class_rows + i * PI2_CLASS_COLUMNS;
        const int windows = s->problem.classes[i % o->classes].congestion != NULL;
        if (!within("flows", row[PI2_CLASS_FLOWS], 0, (double)o->flows * (1 + 1e-9))
            || !within("window", row[PI2_CLASS_WINDOW], windows && row[PI2_CLASS_FLOWS] > 0.0 ? 1 - 1e-9 : 0,
                       windows ? 0x1p32 : 0))
            return 0;
    }
    return 1;
}

/* The ring holds what it may, and whoever leaves it has waited no longer than the run. */
static int sound_rings(const pi2_test_scenario *s, const pi2_packet_outcome *o)
{
    for (int64_t i = 0; i < o->bins * o->links; i++) {
        const double *row = o->bin_rows + i * PI2_BIN_COLUMNS;
        const pi2_packet_link *l = s->specs + i % o->links;
        /* none is in service while an idle link is out */
        const double behind = l->ring && !s->problem.change_count ? l->ring - 1.0 : l->ring;
        if (!within("bytes in the ring", row[PI2_BIN_RING_BYTES], 0,
                    behind * s->problem.packet_size * (1 + 1e-9))
            || !within("waiting in the ring", row[PI2_BIN_RING_WAITED], 0,
                       row[PI2_BIN_RING_ENTERED] * (double)s->problem.duration)
            || !within("left the ring", row[PI2_BIN_RING_ENTERED], 0, l->ring ? INFINITY : 0)
            || !within("limit of bytes", row[PI2_BIN_RING_LIMIT], l->bql ? (double)l->bql_least : 0,
                       l->bql ? (double)l->bql_most : 0))
            return 0;
    }
    return 1;
}

static int sound_controllers(const pi2_test_scenario *s, const pi2_packet_outcome *o)
{
    for (int64_t i = 0; i < o->bins * o->links; i++) {
        const double *row = o->bin_rows + i * PI2_BIN_COLUMNS;
        const pi2_test_link *l = s->links + i % o->links;
        if (!within("controller", row[PI2_BIN_CONTROLLER], 0, l->largest < 1e300 ? l->largest * (1 + 1e-9) : 1e300)
            || !within("capacity", row[PI2_BIN_CAPACITY], 0, 1e15))
            return 0;
        if (!l->unlikely
            && (!within("p of Classic", row[PI2_BIN_CLASSIC], 0, 1 + 1e-9)
                || !within("p of Scalable", row[PI2_BIN_SCALABLE], 0, 1 + 1e-9)))
            return 0;
    }
    return 1;
}

/* The bits that a link could carry: of each stretch of time its capacity, and two packets on either side. */
static int not_overused(const pi2_test_scenario *s, uint32_t link, double bits)
{
    const pi2_packet_scenario *p = &s->problem;
    double capacity = p->links[link].capacity, least_slot = s->links[link].slot, room = 0.0;
    int64_t at = 0;
    for (int i = 0; i < p->change_count; i++) {
        if (p->changes[i].capacity < 0.0 || p->changes[i].link != link)
            continue;
        room += capacity * 1e-9 * (double)(p->changes[i].at - at);
        at = p->changes[i].at;
        capacity = p->changes[i].capacity;
        least_slot = fmin(least_slot, 8e9 * p->packet_size / capacity);
    }
    room += capacity * 1e-9 * (double)(p->duration - at) + 16.0 * p->packet_size * (1 + p->change_count);
    return least_slot < 1000.0 || within("bits of all", bits, 0, 1.01 * room); /* slots are whole ns */
}

/* Whose flow that is, NULL: nobody's. */
static const pi2_packet_class *class_of(const pi2_packet_scenario *s, uint64_t flow)
{
    pi2_class_step told[PI2_TEST_CHANGES + 2];
    int steps;
    for (int i = 0; i < s->class_count; i++) {
        const uint64_t flows = pi2_class_steps(s, i, told, &steps);
        if (flow < flows)
            return s->classes + i;
        flow -= flows;
    }
    return NULL;
}

/* ns: the shortest that the path of a class is. */
static double least_rtt(const pi2_packet_scenario *s, const pi2_packet_class *class_)
{
    int64_t least = class_->base_rtt;
    for (int i = 0; i < s->detour_count; i++)
        if (s->classes + s->detours[i].class_ == class_ && s->detours[i].base_rtt < least)
            least = s->detours[i].base_rtt;
    return (double)least;
}

/* Each transfer is of a class that has some, begins after the one before, and takes at least the two round trips of its
 * connection and its segments; what was finished has left the last link. */
static int sound_transfers(const pi2_test_scenario *s, const pi2_packet_outcome *o)
{
    double finished = 0.0;
    int64_t before = 0;
    for (int64_t i = 0; i < o->transferred; i++) {
        const pi2_transfer *t = o->transfers + i;
        const pi2_packet_class *class_ = class_of(&s->problem, t->flow);
        if (!class_ || class_->sizes.kind == PI2_SIZES_ENDLESS)
            return within("flow of a transfer", t->flow, INFINITY, INFINITY);
        if (!within("size", t->size, 1, 1 << 30)
            || !within("begin", (double)t->begun, (double)before, (double)s->problem.duration))
            return 0;
        before = t->begun;
        if (t->took == PI2_UNFINISHED)
            continue;
        if (!within("duration", (double)t->took, 2.0 * least_rtt(&s->problem, class_),
                    (double)(s->problem.duration - t->begun)))
            return 0;
        finished += t->size;
    }
    return within("segments of transfers", finished, 0, segments(o));
}

int pi2_check_outcome(const pi2_test_scenario *s, const pi2_packet_outcome *o, int done)
{
    leg legs[LEGS];
    const int count = list_legs(s, legs);
    double all = 0.0, at_last = 0.0, bits[PI2_TEST_LINKS] = {0.0};
    if (!equal("legs", -1, (double)count, (double)o->legs))
        return 0;
    for (const leg *l = legs; l < legs + count; l++)
        if (!conserved(o, l))
            return 0;
    if (!done)
        return 1;
    for (const leg *l = legs; l < legs + count; l++) {
        const double departures = column(o, l->number, PI2_LEG_DEPARTURES);
        all += departures;
        at_last += l->last ? departures : 0.0;
        bits[l->link] += column(o, l->number, PI2_LEG_BITS);
        if (!adds_up(s, o, l))
            return 0;
    }
    for (uint32_t link = 0; link < (uint32_t)o->links; link++)
        if (!not_overused(s, link, bits[link]))
            return 0;
    return equal("departures", -1, all, (double)o->packets)
           && equal("departures of flows", -1, segments(o), at_last) && sound_backlogs(s, o) && sound_rows(s, o)
           && sound_controllers(s, o) && sound_rings(s, o) && sound_transfers(s, o);
}

/* Eight bytes at a time, so that it takes less time than the run. */
static uint64_t mixed(uint64_t digest, const void *from, size_t bytes)
{
    const unsigned char *p = from;
    for (; bytes >= sizeof digest; bytes -= sizeof digest, p += sizeof digest) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        digest = (digest ^ word) * UINT64_C(0x100000001b3);
        digest ^= digest >> 29;
    }
    for (; bytes; bytes--)
        digest = (digest ^ *p++) * UINT64_C(0x100000001b3);
    return digest;
}

uint64_t pi2_digest(const pi2_packet_outcome *o)
{
    const size_t bins = (size_t)o->bins, classes = (size_t)o->classes, legs = (size_t)o->legs;
    const size_t blocks = (size_t)o->blocks;
    uint64_t d = UINT64_C(0xcbf29ce484222325);
    d = mixed(d, o->bin_rows, bins * (size_t)o->links * PI2_BIN_COLUMNS * sizeof *o->bin_rows);
    d = mixed(d, o->band_rows, bins * (size_t)o->bands * PI2_BAND_COLUMNS * sizeof *o->band_rows);
    d = mixed(d, o->leg_rows, bins * legs * PI2_LEG_COLUMNS * sizeof *o->leg_rows);
    d = mixed(d, o->class_rows, bins * classes * PI2_CLASS_COLUMNS * sizeof *o->class_rows);
    for (size_t block = 0; block < blocks; block++)
        d = mixed(d, o->delays[block].counts, legs * o->delays[block].buckets * sizeof *o->delays[block].counts);
    d = mixed(d, o->delivered, blocks * (size_t)o->flows * sizeof *o->delivered);
    d = mixed(d, o->leg_totals, legs * PI2_LEG_TOTALS * sizeof *o->leg_totals);
    d = mixed(d, o->class_totals, classes * PI2_CLASS_TOTALS * sizeof *o->class_totals);
    if (o->transferred)
        d = mixed(d, o->transfers, (size_t)o->transferred * sizeof *o->transfers);
    d = mixed(d, o->trace, (size_t)o->traced * sizeof *o->trace);
    return mixed(d, &o->packets, sizeof o->packets);
}
