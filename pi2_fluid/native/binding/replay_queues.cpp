// Part of pi2_fluid._core: queue disciplines driven event by event, with random numbers that are given.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "binding/arguments.h"
#include "binding/replay_queues.h"
extern "C" {
#include "packet/queues/qdisc.h"
}
#include "packet/queues/avq.h"
#include "packet/queues/codel.h"
#include "packet/queues/dualpi2.h"
#include "packet/queues/red.h"

namespace nb = nanobind;
using namespace binding;

namespace {

// Columns of the events that go in and of the rows that come out; pi2_fluid/engines/packet/replays/events.py knows them too.
enum { TIME, OPERATION, BYTES, ECN, INPUTS };
enum { DEQUEUE, ENQUEUE, TICK };
enum { SENT, SENT_BYTES, SENT_ECN, DRAWS, MARKED, QUEUED_C, QUEUED_L, BACKLOG, SOJOURN, OWN, OUTPUTS = OWN + 4 };

// A discipline with its queue, in memory of their own.
struct Bench {
    const pi2_qdisc *table;
    std::vector<std::max_align_t> block;
    std::vector<pi2_packet> ring[2];
    std::vector<std::int64_t> counts = std::vector<std::int64_t>(PI2_CAUSES, 0);
    std::vector<std::tuple<std::size_t, std::uint32_t, int>> lost; // event, packet, cause
    std::size_t event = 0;
    pi2_queue queue = {};

    Bench(const pi2_qdisc *table, const Parameters &parameters, std::size_t packets, std::int64_t mtu,
          std::int64_t limit, double capacity)
        : table(table), block(table->size / sizeof(std::max_align_t) + 1)
    {
        std::size_t room = 2;
        while (room < packets)
            room *= 2;
        for (int b = 0; b < table->bands; b++) {
            ring[b].resize(room);
            queue.band[b].ring = ring[b].data();
            queue.band[b].mask = static_cast<std::uint32_t>(room - 1);
        }
        queue.limit = limit;
        queue.mtu = mtu;
        queue.capacity = capacity;
        queue.counts = counts.data();
        queue.dropped = &note;
        queue.context = this;
        double numbers[PI2_QDISC_PARAMETERS];
        read_parameters(table, parameters, numbers);
        require_sound(table->setup(state(), numbers, &queue), table->name);
    }

    ~Bench()
    {
        if (table->close)
            table->close(state());
    }

    Bench(const Bench &) = delete;
    Bench &operator=(const Bench &) = delete;

    void *state() { return block.data(); }

    std::int64_t marks() const { return counts[PI2_MARK_AQM] + counts[PI2_MARK_STEP]; }

    static void note(void *context, const pi2_packet *packet, std::int64_t, int cause)
    {
        auto *bench = static_cast<Bench *>(context);
        bench->lost.emplace_back(bench->event, packet->segment, cause);
    }
};

const pi2_qdisc *discipline(const std::string &name)
{
    for (const pi2_qdisc *table : {&pi2_qdisc_dualpi2, &pi2_qdisc_red, &pi2_qdisc_codel})
        if (name == table->name)
            return table;
    refuse("'" + name + "' is no queue discipline that can be replayed.");
}

void write_own(Bench &bench, std::int64_t *own)
{
    if (bench.table == &pi2_qdisc_dualpi2) {
        own[0] = pi2_dualpi2_credit(bench.state());
        own[1] = pi2_dualpi2_base(bench.state());
    } else if (bench.table == &pi2_qdisc_codel) {
        pi2_codel_view view;
        pi2_codel_look(bench.state(), &view);
        own[0] = view.count;
        own[1] = view.count_before;
        own[2] = view.dropping;
        own[3] = view.waited;
    } else {
        pi2_red_view view;
        pi2_red_look(bench.state(), &view);
        own[0] = view.count;
    }
}

pi2_packet arriving(std::size_t id, const std::int64_t *in)
{
    pi2_packet packet = {};
    packet.segment = static_cast<std::uint32_t>(id);
    packet.bytes = static_cast<std::uint16_t>(in[BYTES]);
    packet.ecn = static_cast<std::uint8_t>(in[ECN]);
    return packet;
}

// One event; the packets that were marked at their arrival are kept in `marked`.
void run_event(Bench &bench, const std::int64_t *in, std::int64_t *out, std::vector<char> &marked, pi2_draws &draws)
{
    const std::uint64_t drawn = draws.used;
    const std::int64_t marks = bench.marks(), now = in[TIME];
    pi2_packet packet = {};
    out[SENT] = -1;
    if (in[OPERATION] == ENQUEUE) {
        packet = arriving(marked.size(), in);
        out[SENT] = packet.segment;
        bench.table->enqueue(bench.state(), &bench.queue, &packet, now, &draws);
        marked.push_back(bench.marks() > marks);
        out[MARKED] = marked.back();
        packet.ecn = static_cast<std::uint8_t>(in[ECN]); // as it came
    } else if (in[OPERATION] == TICK) {
        bench.table->tick(bench.state(), &bench.queue, now);
    } else if (bench.table->dequeue(bench.state(), &bench.queue, &packet, now, &draws)) {
        out[SENT] = packet.segment;
        out[MARKED] = bench.marks() > marks || marked[packet.segment];
        out[SOJOURN] = now - packet.enqueued;
    } else {
        packet = {};
    }
    out[SENT_BYTES] = packet.bytes;
    out[SENT_ECN] = packet.ecn;
    out[DRAWS] = static_cast<std::int64_t>(draws.used - drawn);
    out[QUEUED_C] = bench.queue.band[PI2_C].count;
    out[QUEUED_L] = bench.queue.band[PI2_L].count;
    out[BACKLOG] = pi2_queue_bytes(&bench.queue);
    write_own(bench, out + OWN);
}

void require_events(const Rows<const std::int64_t> &events, bool ticks)
{
    require(events.shape(1) == INPUTS, "events must have four columns.");
    for (std::size_t i = 0; i < events.shape(0); i++) {
        const std::int64_t *in = events.data() + i * INPUTS;
        require(in[TIME] >= (i ? in[TIME - INPUTS] : 0), "time must not fall.");
        require(in[OPERATION] >= DEQUEUE && in[OPERATION] <= (ticks ? TICK : ENQUEUE), "operation is unknown.");
        require(in[BYTES] >= 0 && in[BYTES] <= UINT16_MAX, "bytes are out of range.");
        require(in[ECN] >= 0 && in[ECN] <= PI2_CE, "ecn is out of range.");
    }
}

std::vector<std::tuple<std::size_t, std::uint32_t, int>>
replay_queue(const std::string &name, const Parameters &parameters, std::int64_t mtu, std::int64_t limit,
             const std::optional<std::uint32_t> &held, const Rows<const std::int64_t> &events,
             const Line<const std::uint64_t> &given, const Rows<std::int64_t> &results)
{
    const pi2_qdisc *table = discipline(name);
    const std::size_t n = events.shape(0);
    require(mtu >= 1 && limit >= 0, "mtu and limit are out of range.");
    require_events(events, table->tick != nullptr);
    require(results.shape(0) == n && results.shape(1) == OUTPUTS, "results have another shape.");
    Bench bench(table, parameters, n, mtu, limit, 1e9);
    if (held && table == &pi2_qdisc_dualpi2)
        pi2_dualpi2_hold(bench.state(), *held);
    // No packet is judged on more than five draws: what is not given is 0, and refused at the end.
    std::vector<std::uint64_t> numbers(given.data(), given.data() + given.shape(0));
    numbers.resize(given.shape(0) + 5 * n + 1);
    pi2_draws draws = {};
    draws.given = numbers.data();
    std::vector<char> marked;
    {
        nb::gil_scoped_release release;
        for (bench.event = 0; bench.event < n; bench.event++)
            run_event(bench, events.data() + bench.event * INPUTS, results.data() + bench.event * OUTPUTS, marked,
                      draws);
    }
    return bench.lost;
}

// p' after each update, the only packet having waited so long (ns).
void replay_dualpi2_updates(const Parameters &parameters, const Line<const std::int64_t> &delay,
                            const Line<std::int64_t> &base)
{
    Bench bench(&pi2_qdisc_dualpi2, parameters, 2, 1500, 1, 1e9);
    const pi2_packet packet = {};
    require(base.shape(0) == delay.shape(0), "results have another shape.");
    pi2_queue_push(&bench.queue, PI2_C, &packet, 0);
    for (std::size_t i = 0; i < delay.shape(0); i++) {
        require(delay.data()[i] >= 0, "delays must not be negative.");
        pi2_qdisc_dualpi2.tick(bench.state(), &bench.queue, delay.data()[i]);
        base.data()[i] = pi2_dualpi2_base(bench.state());
    }
}

void write_red(Bench &bench, double *out)
{
    pi2_red_view view;
    pi2_red_look(bench.state(), &view);
    out[0] = view.average;
    out[1] = view.p;
    out[2] = view.max_p;
    out[3] = static_cast<double>(view.count);
}

enum { RED_OUTPUTS = 5 };

// One packet per row: the backlog (bytes) it finds, how long the link has been idle (ns), the number it may draw.
void replay_red(const Parameters &parameters, std::int64_t mtu, double capacity,
                const Line<const std::int64_t> &backlog, const Line<const std::int64_t> &idle,
                const Line<const std::uint64_t> &given, std::size_t adapt_every, const Rows<double> &results)
{
    const std::size_t n = backlog.shape(0);
    Bench bench(&pi2_qdisc_red, parameters, 2, mtu, 1, capacity);
    require(idle.shape(0) == n && given.shape(0) == n && results.shape(0) == n && results.shape(1) == RED_OUTPUTS,
            "arrays have other lengths.");
    for (std::size_t i = 0; i < n; i++) {
        double *out = results.data() + i * RED_OUTPUTS;
        pi2_draws draws = {};
        draws.given = given.data() + i;
        require(backlog.data()[i] >= 0 && idle.data()[i] >= 0, "backlog and idle must not be negative.");
        if (idle.data()[i] > 0)
            pi2_red_idle_since(bench.state(), 0);
        out[4] = pi2_red_judge(bench.state(), backlog.data()[i], idle.data()[i], &draws);
        write_red(bench, out);
        if (adapt_every && (i + 1) % adapt_every == 0) {
            pi2_qdisc_red.tick(bench.state(), &bench.queue, 0);
            write_red(bench, out);
        }
    }
}

enum { AVQ_OUTPUTS = 3 };

// One packet per row: when it arrives (ns) and its bytes. Packets leave at once, so that there is always room.
void replay_avq(const Parameters &parameters, std::int64_t mtu, double capacity, const Line<const std::int64_t> &now,
                const Line<const std::int64_t> &bytes, const Rows<double> &results)
{
    const std::size_t n = now.shape(0);
    Bench bench(&pi2_qdisc_avq, parameters, 2, mtu, 2, capacity);
    pi2_draws draws = {};
    require(bytes.shape(0) == n && results.shape(0) == n && results.shape(1) == AVQ_OUTPUTS,
            "arrays have other lengths.");
    for (std::size_t i = 0; i < n; i++) {
        double *out = results.data() + i * AVQ_OUTPUTS;
        const std::int64_t signals = bench.counts[PI2_DROP_AQM] + bench.marks();
        pi2_packet packet = {};
        pi2_avq_view view;
        require(now.data()[i] >= (i ? now.data()[i - 1] : 0) && bytes.data()[i] >= 0 && bytes.data()[i] <= 65535,
                "times or sizes are out of range.");
        packet.bytes = static_cast<std::uint16_t>(bytes.data()[i]);
        packet.ecn = PI2_ECT0;
        pi2_qdisc_avq.enqueue(bench.state(), &bench.queue, &packet, now.data()[i], &draws);
        pi2_qdisc_avq.dequeue(bench.state(), &bench.queue, &packet, now.data()[i], &draws);
        pi2_avq_look(bench.state(), &view);
        out[0] = view.queue;
        out[1] = view.capacity;
        out[2] = static_cast<double>(bench.counts[PI2_DROP_AQM] + bench.marks() - signals);
    }
}

// max_p after each adaptation at these averages (bytes).
void replay_red_adaptation(const Parameters &parameters, std::int64_t mtu, double capacity,
                           const Line<const double> &average, const Line<double> &max_p)
{
    Bench bench(&pi2_qdisc_red, parameters, 2, mtu, 1, capacity);
    require(max_p.shape(0) == average.shape(0), "results have another shape.");
    for (std::size_t i = 0; i < average.shape(0); i++) {
        pi2_red_view view;
        require(average.data()[i] >= 0.0 && average.data()[i] < 1e9, "averages are out of range.");
        pi2_red_hold(bench.state(), average.data()[i]);
        pi2_qdisc_red.tick(bench.state(), &bench.queue, 0);
        pi2_red_look(bench.state(), &view);
        max_p.data()[i] = view.max_p;
    }
}

// 1/sqrt(count) in 1/2^16 and interval/sqrt(count), for count = 1, 2, ... .
void codel_law(std::int64_t interval, const Rows<std::int64_t> &results)
{
    std::uint16_t inverse = UINT16_MAX;
    require(results.shape(1) == 2 && interval > 0 && interval < (INT64_C(1) << 40), "arguments are out of range.");
    for (std::size_t i = 0; i < results.shape(0); i++) {
        if (i)
            inverse = pi2_codel_newton(inverse, static_cast<std::uint32_t>(i + 1));
        results.data()[2 * i] = inverse;
        results.data()[2 * i + 1] = pi2_codel_gap(interval, inverse);
    }
}

} // namespace

void register_replay_queues(nb::module_ &module)
{
    module.def("replay_queue", &replay_queue, nb::arg("name"), nb::arg("parameters"), nb::arg("mtu"),
               nb::arg("limit"), nb::arg("held").none(), nb::arg("events").noconvert(), nb::arg("given").noconvert(),
               nb::arg("results").noconvert(),
               R"(A queue discipline ("dualpi2", "red", "codel"), event by event; releases the GIL.

Parameters
----------
parameters
    By the names in native/packet/queues/*.c.
mtu, limit
    Bytes of a full packet, packets that fit.
held
    p' of dualpi2 in 1/(2^32 - 1) until the first update; None: 0.
events
    Rows of time (ns), operation (0 dequeue, 1 enqueue, 2 update), bytes, ECN field.
given
    64-bit draws, consumed in order; further ones are 0.
results
    Rows, written to: packet (-1: none), bytes, ECN field, draws consumed, whether marked,
    packets in C and L, bytes waiting, sojourn (ns), and the discipline's own four: credit and
    p' of dualpi2; count, count before, dropping and last sojourn (ns) of codel; count of red.

Returns
-------
list of (event, packet, cause)
    What was lost.

Raises
------
ValueError
    An argument is out of range.
)");
    module.def("replay_dualpi2_updates", &replay_dualpi2_updates, nb::arg("parameters"), nb::arg("delay").noconvert(),
               nb::arg("base").noconvert(),
               "p' of DualPI2, in 1/(2^32 - 1), after updates that see these delays (ns).");
    module.def("replay_red", &replay_red, nb::arg("parameters"), nb::arg("mtu"), nb::arg("capacity"),
               nb::arg("backlog").noconvert(), nb::arg("idle").noconvert(), nb::arg("given").noconvert(),
               nb::arg("adapt_every"), nb::arg("results").noconvert(),
               R"(RED, one packet after the other: backlog (bytes) and idle time (ns) before it, its draw.

Written into rows of `results`: average (bytes), p_b, max_p, count, verdict (0 pass, 1 by
chance, 2 forced).
)");
    module.def("replay_red_adaptation", &replay_red_adaptation, nb::arg("parameters"), nb::arg("mtu"),
               nb::arg("capacity"), nb::arg("average").noconvert(), nb::arg("max_p").noconvert(),
               "max_p of adaptive RED after adaptations at these averages (bytes).");
    module.def("replay_avq", &replay_avq, nb::arg("parameters"), nb::arg("mtu"), nb::arg("capacity"),
               nb::arg("now").noconvert(), nb::arg("bytes").noconvert(), nb::arg("results").noconvert(),
               R"(AVQ, one packet after the other: when it arrives (ns), and its bytes.

Written into rows of `results`: what the virtual queue holds, its capacity per second, whether
the packet was signalled.
)");
    module.def("codel_law", &codel_law, nb::arg("interval"), nb::arg("results").noconvert(),
               "Rows of 1/sqrt(n) in 1/2^16 and interval/sqrt(n), n = 1, 2 ..., in CoDel's integers.");
}
