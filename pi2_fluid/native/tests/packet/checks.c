/* What was counted must add up, and lie where it can. */
#include "tests/packet/checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int equal(const char *what, int class_, double a, double b)
{
    if (a == b)
        return 1;
    printf("class %d, %s: %.17g is not %.17g\n", class_, what, a, b);
    return 0;
}

static int within(const char *what, double value, double low, double high)
{
    if (value >= low && value <= high)
        return 1;
    printf("%s = %.17g lies outside [%.17g, %.17g]\n", what, value, low, high);
    return 0;
}

static double column(const pi2_packet_outcome *o, int class_, int which)
{
    double sum = 0.0;
    for (int64_t i = 0; i < o->bins; i++)
        sum += o->class_rows[(i * o->classes + class_) * PI2_CLASS_COLUMNS + which];
    return sum;
}

static double segments(const pi2_packet_outcome *o)
{
    double sum = 0.0;
    for (int64_t i = 0; i < o->blocks * o->flows; i++)
        sum += o->delivered[i];
    return sum;
}

static double delayed(const pi2_packet_outcome *o, int class_)
{
    double sum = 0.0;
    for (int64_t block = 0; block < o->blocks; block++)
        for (int i = 0; i < PI2_DELAY_BUCKETS; i++)
            sum += o->delays[(block * o->classes + class_) * PI2_DELAY_BUCKETS + i];
    return sum;
}

static int conserved(const pi2_packet_outcome *o, int class_)
{
    const int64_t *t = o->totals + class_ * PI2_TOTALS;
    const int64_t out = t[PI2_DELIVERED] + t[PI2_DROP_AQM] + t[PI2_DROP_FULL] + t[PI2_DROP_OVERLOAD];
    for (int i = 0; i < PI2_TOTALS; i++)
        if (t[i] < 0)
            return within("a total", (double)t[i], 0, INFINITY);
    return equal("sent", class_, (double)t[PI2_SENT],
                 (double)(out + t[PI2_TOTAL_QUEUED] + t[PI2_TOTAL_IN_FLIGHT]))
           && within("marks", (double)(t[PI2_MARK_AQM] + t[PI2_MARK_STEP]), 0, (double)t[PI2_SENT]);
}

/* Rows of bins against totals, which agree once the last bin is over. */
static int adds_up(const pi2_test_scenario *s, const pi2_packet_outcome *o, int class_)
{
    const int64_t *t = o->totals + class_ * PI2_TOTALS;
    const double departures = column(o, class_, PI2_CLASS_DEPARTURES), bits = column(o, class_, PI2_CLASS_BITS);
    const double drops = (double)(t[PI2_DROP_AQM] + t[PI2_DROP_FULL] + t[PI2_DROP_OVERLOAD]);
    return equal("arrivals", class_, column(o, class_, PI2_CLASS_ARRIVALS), (double)t[PI2_SENT])
           && equal("drops", class_, column(o, class_, PI2_CLASS_DROPS), drops)
           && equal("marks", class_, column(o, class_, PI2_CLASS_MARKS),
                    (double)(t[PI2_MARK_AQM] + t[PI2_MARK_STEP]))
           && equal("delays", class_, delayed(o, class_), departures)
           && within("bits", bits, 0, 8.0 * s->problem.packet_size * departures)
           && within("bits", bits, 8.0 * 64 * (departures - 1), INFINITY)
           && within("sojourn", column(o, class_, PI2_CLASS_SOJOURN), 0,
                     departures * (double)s->problem.duration);
}

static int sound_rows(const pi2_test_scenario *s, const pi2_packet_outcome *o)
{
    const double full = (double)s->problem.buffer * s->problem.packet_size;
    for (int64_t i = 0; i < o->bins * o->bands; i++) {
        const double *row = o->band_rows + i * PI2_BAND_COLUMNS;
        if (!within("mean backlog", row[PI2_BAND_BYTES], 0, full * (1 + 1e-9))
            || !within("its square", row[PI2_BAND_SQUARE], row[PI2_BAND_BYTES] * row[PI2_BAND_BYTES] * (1 - 1e-9),
                       full * full * (1 + 1e-9)))
            return 0;
    }
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

static int sound_controller(const pi2_test_scenario *s, const pi2_packet_outcome *o)
{
    for (int64_t i = 0; i < o->bins; i++) {
        const double *row = o->bin_rows + i * PI2_BIN_COLUMNS;
        if (!within("controller", row[PI2_BIN_CONTROLLER], 0, s->largest < 1e300 ? s->largest * (1 + 1e-9) : 1e300)
            || !within("capacity", row[PI2_BIN_CAPACITY], 0, 1e15))
            return 0;
        if (!s->unlikely
            && (!within("p of Classic", row[PI2_BIN_CLASSIC], 0, 1 + 1e-9)
                || !within("p of Scalable", row[PI2_BIN_SCALABLE], 0, 1 + 1e-9)))
            return 0;
    }
    return 1;
}

/* The bits that the link could carry: of each stretch of time its capacity, and two packets on either side. */
static int not_overused(const pi2_test_scenario *s, const pi2_packet_outcome *o)
{
    const pi2_packet_scenario *p = &s->problem;
    double capacity = p->capacity, least_slot = s->slot, room = 0.0, bits = 0.0;
    int64_t at = 0;
    for (int i = 0; i < p->change_count; i++) {
        if (p->changes[i].capacity <= 0.0)
            continue;
        room += capacity * 1e-9 * (double)(p->changes[i].at - at);
        at = p->changes[i].at;
        capacity = p->changes[i].capacity;
        least_slot = fmin(least_slot, 8e9 * p->packet_size / capacity);
    }
    room += capacity * 1e-9 * (double)(p->duration - at) + 16.0 * p->packet_size * (1 + p->change_count);
    for (int i = 0; i < o->classes; i++)
        bits += column(o, i, PI2_CLASS_BITS);
    return least_slot < 1000.0 || within("bits of all", bits, 0, 1.01 * room); /* slots are whole ns */
}

int pi2_check_outcome(const pi2_test_scenario *s, const pi2_packet_outcome *o, int done)
{
    double departures = 0.0;
    for (int i = 0; i < o->classes; i++)
        if (!conserved(o, i))
            return 0;
    if (!done)
        return 1;
    for (int i = 0; i < o->classes; i++) {
        departures += column(o, i, PI2_CLASS_DEPARTURES);
        if (!adds_up(s, o, i))
            return 0;
    }
    return equal("departures", -1, departures, (double)o->packets)
           && equal("departures of flows", -1, segments(o), (double)o->packets) && sound_rows(s, o)
           && sound_controller(s, o) && not_overused(s, o);
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
    const size_t bins = (size_t)o->bins, classes = (size_t)o->classes, blocks = (size_t)o->blocks;
    uint64_t d = UINT64_C(0xcbf29ce484222325);
    d = mixed(d, o->bin_rows, bins * PI2_BIN_COLUMNS * sizeof *o->bin_rows);
    d = mixed(d, o->band_rows, bins * (size_t)o->bands * PI2_BAND_COLUMNS * sizeof *o->band_rows);
    d = mixed(d, o->class_rows, bins * classes * PI2_CLASS_COLUMNS * sizeof *o->class_rows);
    d = mixed(d, o->delays, blocks * classes * PI2_DELAY_BUCKETS * sizeof *o->delays);
    d = mixed(d, o->delivered, blocks * (size_t)o->flows * sizeof *o->delivered);
    d = mixed(d, o->totals, classes * PI2_TOTALS * sizeof *o->totals);
    d = mixed(d, o->trace, (size_t)o->traced * sizeof *o->trace);
    return mixed(d, &o->packets, sizeof o->packets);
}
