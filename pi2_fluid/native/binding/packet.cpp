// Part of pi2_fluid._core: one run of the packet simulator, and parts of it for tests.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/packet.h"
#include "binding/packet_scenario.h"
extern "C" { // around the headers that it includes, too
#include "packet/tcp/jiffies.h"
#include "packet/tcp/prr.h"
#include "packet/tcp/published.h"
}

namespace nb = nanobind;
using namespace binding;

namespace {

struct Name {
    const char *name;
    int column;
};

constexpr Name BIN[] = {{"capacity", PI2_BIN_CAPACITY},
                        {"controller", PI2_BIN_CONTROLLER},
                        {"classic", PI2_BIN_CLASSIC},
                        {"scalable", PI2_BIN_SCALABLE},
                        {"ring_bytes", PI2_BIN_RING_BYTES},
                        {"ring_waited", PI2_BIN_RING_WAITED},
                        {"ring_entered", PI2_BIN_RING_ENTERED},
                        {"ring_limit", PI2_BIN_RING_LIMIT}};
constexpr Name BAND[] = {{"bytes", PI2_BAND_BYTES}, {"square", PI2_BAND_SQUARE}};
constexpr Name LEG[] = {{"arrivals", PI2_LEG_ARRIVALS}, {"departures", PI2_LEG_DEPARTURES},
                        {"bits", PI2_LEG_BITS},         {"drops", PI2_LEG_DROPS},
                        {"marks", PI2_LEG_MARKS},       {"sojourn", PI2_LEG_SOJOURN}};
constexpr Name CLASS[] = {{"window", PI2_CLASS_WINDOW}, {"flows", PI2_CLASS_FLOWS}};
constexpr Name TOTAL[] = {{"sent", PI2_SENT},
                          {"delivered", PI2_DELIVERED},
                          {"drop_aqm", PI2_DROP_AQM},
                          {"drop_full", PI2_DROP_FULL},
                          {"drop_overload", PI2_DROP_OVERLOAD},
                          {"mark_aqm", PI2_MARK_AQM},
                          {"mark_step", PI2_MARK_STEP},
                          {"lost", PI2_LOST_BEHIND},
                          {"queued", PI2_TOTAL_QUEUED},
                          {"in_flight", PI2_TOTAL_IN_FLIGHT}};
constexpr Name OF_CLASS[] = {{"retransmissions", PI2_TOTAL_RETRANSMISSIONS},
                             {"timeouts", PI2_TOTAL_TIMEOUTS},
                             {"turned_away", PI2_TOTAL_TURNED_AWAY}};

nb::dict trace_of(const pi2_packet_outcome &o)
{
    const std::size_t n = static_cast<std::size_t>(o.traced);
    nb::dict columns;
    columns["time"] = column_of<std::int64_t>(o.trace, n, &pi2_trace_row::time);
    columns["waited"] = column_of<std::int64_t>(o.trace, n, &pi2_trace_row::waited);
    columns["flow"] = column_of<std::uint32_t>(o.trace, n, &pi2_trace_row::flow);
    columns["segment"] = column_of<std::uint32_t>(o.trace, n, &pi2_trace_row::segment);
    columns["bytes"] = column_of<std::uint16_t>(o.trace, n, &pi2_trace_row::bytes);
    columns["what"] = column_of<std::uint8_t>(o.trace, n, &pi2_trace_row::what);
    columns["band"] = column_of<std::uint8_t>(o.trace, n, &pi2_trace_row::band);
    columns["ecn"] = column_of<std::uint8_t>(o.trace, n, &pi2_trace_row::ecn);
    columns["cause"] = column_of<std::uint8_t>(o.trace, n, &pi2_trace_row::cause);
    columns["link"] = column_of<std::uint16_t>(o.trace, n, &pi2_trace_row::link);
    return columns;
}

nb::dict transfers_of(const pi2_packet_outcome &o)
{
    const std::size_t n = static_cast<std::size_t>(o.transferred);
    nb::dict columns;
    columns["begun"] = column_of<std::int64_t>(o.transfers, n, &pi2_transfer::begun);
    columns["took"] = column_of<std::int64_t>(o.transfers, n, &pi2_transfer::took);
    columns["flow"] = column_of<std::uint32_t>(o.transfers, n, &pi2_transfer::flow);
    columns["size"] = column_of<std::uint32_t>(o.transfers, n, &pi2_transfer::size);
    return columns;
}

nb::object delays_of(const pi2_packet_outcome &o)
{
    const auto blocks = static_cast<std::size_t>(o.blocks), legs = static_cast<std::size_t>(o.legs);
    std::size_t most = 0;
    for (std::size_t i = 0; i < blocks; i++)
        most = std::max(most, std::size_t{o.delays[i].buckets});
    std::vector<std::uint32_t> counts(blocks * legs * most);
    for (std::size_t i = 0; i < blocks * legs; i++) {
        const pi2_delays &of = o.delays[i / legs];
        std::copy_n(of.counts + i % legs * of.buckets, of.buckets, counts.data() + i * most);
    }
    return as_array(std::move(counts), {blocks, legs, most});
}

class PacketRun {
  public:
    PacketRun(Told<std::int64_t> duration, Told<std::int64_t> packet_size, const AllDescribed &links,
              const AllDescribed &classes, const AllDescribed &changes, Told<std::uint64_t> seed,
              Told<std::int64_t> bin, Told<std::int64_t> trace, const AllDescribed &detours)
    {
        const PacketScenario told(duration, packet_size, links, classes, changes, seed, bin, trace, detours);
        int refused = 0;
        run.reset(pi2_run_new(&told.problem, &refused));
        require_sound(!refused, refused ? told.problem.links[refused - 1].qdisc->name : "");
        if (!run)
            throw std::bad_alloc();
    }

    const char *advance(std::int64_t events)
    {
        static const char *const names[] = {"more", "done", "no memory"};
        static_assert(PI2_RUN_MORE == 0 && PI2_RUN_DONE == 1 && PI2_RUN_NO_MEMORY == 2, "names are in this order");
        int status;
        require_idle();
        busy = true;
        {
            nb::gil_scoped_release release;
            status = pi2_run_advance(run.get(), events);
        }
        busy = false;
        reached = pi2_run_time(run.get());
        return names[status];
    }

    std::int64_t time() const { return reached; } // not the run's own, which another thread may be writing

    Described outcome() const
    {
        pi2_packet_outcome o = {};
        require_idle();
        pi2_run_outcome(run.get(), &o);
        const auto bins = static_cast<std::size_t>(o.bins), bands = static_cast<std::size_t>(o.bands),
                   links = static_cast<std::size_t>(o.links), legs = static_cast<std::size_t>(o.legs),
                   classes = static_cast<std::size_t>(o.classes), blocks = static_cast<std::size_t>(o.blocks),
                   flows = static_cast<std::size_t>(o.flows);
        nb::dict found, of_bins, of_bands, of_legs, of_classes, totals;
        for (const auto &[name, column] : BIN)
            of_bins[name] = array_of<double>(o.bin_rows + column, PI2_BIN_COLUMNS, {bins, links});
        for (const auto &[name, column] : BAND)
            of_bands[name] = array_of<double>(o.band_rows + column, PI2_BAND_COLUMNS, {bins, bands});
        for (const auto &[name, column] : LEG)
            of_legs[name] = array_of<double>(o.leg_rows + column, PI2_LEG_COLUMNS, {bins, legs});
        for (const auto &[name, column] : CLASS)
            of_classes[name] = array_of<double>(o.class_rows + column, PI2_CLASS_COLUMNS, {bins, classes});
        for (const auto &[name, column] : TOTAL)
            totals[name] = array_of<std::int64_t>(o.leg_totals + column, PI2_LEG_TOTALS, {legs});
        for (const auto &[name, column] : OF_CLASS)
            totals[name] = array_of<std::int64_t>(o.class_totals + column, PI2_CLASS_TOTALS, {classes});
        found["bins"] = of_bins;
        found["bands"] = of_bands;
        found["legs"] = of_legs;
        found["classes"] = of_classes;
        found["totals"] = totals;
        found["delays"] = delays_of(o);
        found["segments"] = array_of<std::uint32_t>(o.delivered, 1, {blocks, flows});
        found["transfers"] = transfers_of(o);
        found["trace"] = trace_of(o);
        found["block"] = o.block;
        found["events"] = o.events;
        found["packets"] = o.packets;
        return found;
    }

  private:
    void require_idle() const
    {
        if (busy)
            throw std::runtime_error("this run is being computed by another thread.");
    }

    struct Free {
        void operator()(pi2_run *r) const { pi2_run_free(r); }
    };
    std::unique_ptr<pi2_run, Free> run;
    std::int64_t reached = 0;
    bool busy = false;
};

nb::typed<nb::object, nb::ndarray<nb::numpy, double, nb::ndim<1>>> delay_edges()
{
    double edges[PI2_DELAY_BUCKETS + 1];
    for (int i = 0; i <= PI2_DELAY_BUCKETS; i++)
        edges[i] = pi2_delay_edge(i);
    return array_of<double>(edges, 1, {std::size_t{PI2_DELAY_BUCKETS + 1}});
}

Dict<std::int64_t> limits()
{
    nb::dict numbers;
#define PI2_LIMIT(name, value) numbers[#name] = PI2_##name;
    PI2_LIMITS(PI2_LIMIT)
#undef PI2_LIMIT
    return numbers;
}

// What a class of packets is told: how many flows at its start, more or fewer at the changes, none at its stop.
using Steps = std::vector<std::pair<std::int64_t, std::uint32_t>>;

std::pair<std::uint64_t, Steps> class_steps(std::int64_t start, const std::optional<std::int64_t> &stop,
                                            std::uint32_t count,
                                            const std::vector<std::pair<std::int64_t, std::int64_t>> &changes)
{
    pi2_packet_class only = {};
    std::vector<pi2_packet_change> schedule;
    std::vector<std::int64_t> counts;
    pi2_packet_scenario s = {};
    std::vector<pi2_class_step> steps(changes.size() + 2);
    int told;
    only.start = start;
    only.stop = stop.value_or(PI2_NEVER);
    only.count = count;
    for (const auto &[at, wanted] : changes) {
        schedule.push_back({at, 0.0, 0});
        counts.push_back(wanted);
    }
    s.class_count = 1;
    s.classes = &only;
    s.change_count = static_cast<int>(changes.size());
    s.changes = schedule.data();
    s.counts = counts.data();
    const std::uint64_t flows = pi2_class_steps(&s, 0, steps.data(), &told);
    Steps found;
    for (int i = 0; i < told; i++)
        found.emplace_back(steps[static_cast<std::size_t>(i)].at, steps[static_cast<std::size_t>(i)].count);
    return {flows, found};
}

Dict<std::int64_t> published()
{
    nb::dict numbers;
#define PI2_NUMBER(name, value) numbers[#name] = value;
    PI2_PUBLISHED(PI2_NUMBER)
#undef PI2_NUMBER
    return numbers;
}

nb::typed<nb::object, nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>> packet_sizes(
    const std::string &kind, const Numbers &numbers, std::int64_t count, std::uint64_t seed)
{
    const SizesTold told = {kind, numbers};
    const pi2_sizes sizes = sizes_of(told, "packet");
    if (count < 0 || count > PI2_MOST_TRACE)
        refuse("count = " + std::to_string(count) + " is outside [0, " + std::to_string(PI2_MOST_TRACE) + "].");
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
    const std::uint64_t key = pi2_stream_key(seed, 0);
    for (std::size_t i = 0; i < drawn.size(); i++)
        drawn[i] = pi2_size_of(&sizes, pi2_random(key, i));
    return array_of<std::int64_t>(drawn.data(), 1, {drawn.size()});
}

std::int64_t prr(std::int64_t ssthresh, std::int64_t prior_window, std::int64_t in_flight, std::int64_t delivered,
                 std::int64_t delivered_in_all, std::int64_t sent, bool safe)
{
    if (prior_window < 1)
        refuse("prior_window = " + std::to_string(prior_window) + " is no window; give at least 1.");
    const pi2_prr_state now = {ssthresh, prior_window, in_flight, delivered, delivered_in_all, sent, safe};
    return pi2_prr(&now);
}

std::int64_t jiffy_timer(std::int64_t now, std::int64_t ms)
{
    if (now < 0 || now > PI2_LONGEST || ms < 0 || ms > PI2_LONGEST / 1000000)
        refuse("now = " + std::to_string(now) + " or ms = " + std::to_string(ms) + " is no time of a run.");
    return pi2_jiffy_timer(now, ms);
}

} // namespace

void register_packet(nb::module_ &module)
{
    nb::class_<PacketRun>(module, "PacketRun", R"(One run of the packet simulator in the making (native/packet/simulator.h).

Parameters
----------
duration, packet_size
    ns, and bytes.
links
    Of each link: capacity (bit/s), kind ("wire" or "htb"), delay_on ("return", "forward" or
    "split") and ack_jitter (ns) of those who cross it last, buffer (packets); loss (part of all) and
    loss_burst (packets, 0: each by itself); aggregate (packets sent as one, 1: none) and
    aggregate_time (ns that they take at most); ring (packets between queue and wire, 0: none) and bql
    (None, or the least and the most bytes of its byte queue limit); qdisc, a queue
    discipline of the kernel, and the parameters of that; pushes, what is added to the controller's
    variable before each update, from the first on.
classes
    Of each class: congestion, its control (None: nobody answers it), and the parameters of that;
    packet_size (bytes); source, None with congestion: interval between bursts (ns), burst (bytes),
    spacing (ns between bytes, 0: all at once), poisson (bool), sends and pause (ns, mean times for
    which it does in turns; 0: it never pauses); count; base_rtt, start, stop
    (None: the end) and start_jitter (ns); initial_window (segments); slow_start, delayed_ack;
    paced, how many segments at least leave at once, 0: as acknowledgements come; push_every
    (segments from one with PSH to the next, 0: none, -1: as Linux); ecn, the field (0 Not-ECT,
    1 ECT(1), 2 ECT(0)); sizes of its transfers, as for packet_sizes (None: its flows send on and
    on); idle, the mean time between two of a flow (ns), or gap, that between two arrivals, 0: none
    arrive; route, the numbers of the links that it crosses, and hops, the propagation times to each
    (ns); back and back_hops, the same of its acknowledgements.
changes
    Of each change, in the order of time: at (ns), capacity (bit/s, -1: as it is) of which link,
    and counts, the flows of every class (-1: as they are).
seed
    In [0, 2^64).
bin
    Length of a row of statistics (ns).
trace
    Events recorded at most.
detours
    Of each change of a path, in the order of time: at (ns), class, and its new base_rtt (ns).

Raises
------
ValueError
    A name is unknown or missing, or a number is out of range.
)")
        .def(nb::init<Told<std::int64_t>, Told<std::int64_t>, const AllDescribed &, const AllDescribed &,
                      const AllDescribed &, Told<std::uint64_t>, Told<std::int64_t>, Told<std::int64_t>,
                      const AllDescribed &>(),
             nb::arg("duration"), nb::arg("packet_size"), nb::arg("links"), nb::arg("classes"), nb::arg("changes"),
             nb::arg("seed"), nb::arg("bin"), nb::arg("trace"), nb::arg("detours") = AllDescribed())
        .def("advance", &PacketRun::advance, nb::arg("events"),
             "Handle up to that many events: \"more\", \"done\" or \"no memory\"; releases the GIL.")
        .def("outcome", &PacketRun::outcome,
             R"(Copies of all that was counted so far, by the names of the header's columns.

"bins": arrays (bins, links) of capacity, controller, classic, scalable, ring_bytes,
ring_waited (ns), ring_entered, ring_limit (bytes). "bands": (bins, bands)
of bytes and square, the bands link after link. "legs", each class at each link of its route:
(bins, legs) of arrivals, departures, bits, drops, marks, sojourn (ns). "classes": (bins,
classes) of window, flows. "totals": (legs,) of the causes, queued, in_flight; (classes,) of
retransmissions, timeouts, turned_away. "delays": (blocks, legs, buckets), of those up to the
longest delay, or some more. "segments": (blocks, flows). "transfers": (transfers,) of begun, took (ns, -1: unfinished), flow, size. "trace":
(events,) of the members of a row. "block": bins in a block. "events" and "packets":
how many were handled.
)")
        .def_prop_ro("time", &PacketRun::time,
             "How far it is (ns).");
    module.def("packet_delay_edges", &delay_edges,
               "Edges between the buckets of delays (s), one more than there are buckets.");
    module.def("packet_limits", &limits,
               "What the packet simulator lets in, by the names in native/packet/core/limits.h.");
    module.def("packet_class_steps", &class_steps, nb::arg("start"), nb::arg("stop").none(), nb::arg("count"),
               nb::arg("changes"),
               R"(The flows that a class has in all, and when (ns) it is told how many are to be there.

Parameters
----------
start, stop, count
    When it begins and ends (ns, None: with the run), and with how many flows.
changes
    When it is told another number, and which (-1: as it is), in the order of time.
)");
    module.def("packet_sizes", &packet_sizes, nb::arg("kind"), nb::arg("numbers"), nb::arg("count"), nb::arg("seed"),
               R"(Sizes of transfers (segments), as the simulator draws them.

Parameters
----------
kind, numbers
    "fixed" and the size; "exponential" and the mean; "pareto" and its shape, the least size and
    the largest (inf: none); "empirical" and sizes that are equally likely.
count, seed
    How many, and which.
)");
    module.def("packet_published", &published,
               "The numbers of the packet simulator that others have published, by name.");
    module.def("packet_prr", &prr, nb::arg("ssthresh"), nb::arg("prior_window"), nb::arg("in_flight"),
               nb::arg("delivered"), nb::arg("delivered_in_all"), nb::arg("sent"), nb::arg("safe"),
               "How many segments proportional rate reduction lets go, for tests.");
    module.def("packet_jiffy_timer", &jiffy_timer, nb::arg("now"), nb::arg("ms"),
               "When (ns) a kernel timer set at `now` (ns) for `ms` expires, for tests.");
}
