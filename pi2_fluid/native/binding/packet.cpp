// Part of pi2_fluid._core: one run of the packet simulator. Whatever comes through this door is checked here, so that
// the kernel need not: it would divide by it, shift by it or allocate as much.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/packet.h"
extern "C" { // around the headers that it includes, too
#include "packet/simulator.h"
#include "packet/tcp/jiffies.h"
#include "packet/tcp/prr.h"
#include "packet/tcp/published.h"
}

namespace nb = nanobind;
using namespace binding;

namespace {

template <typename T> T as(nb::handle object, const std::string &what)
{
    T value;
    if (!nb::try_cast<T>(object, value))
        refuse(what + " is of another type, or too large.");
    return value;
}

std::int64_t whole(nb::handle object, std::int64_t low, std::int64_t high, const std::string &what)
{
    const auto value = as<std::int64_t>(object, what);
    if (value < low || value > high)
        refuse(what + " = " + std::to_string(value) + " is outside [" + std::to_string(low) + ", "
               + std::to_string(high) + "].");
    return value;
}

double capacity_of(nb::handle object, int packet_size, const std::string &what)
{
    const auto capacity = as<double>(object, what);
    const double slot = 8e9 * packet_size / capacity;
    if (!(capacity > 0.0 && slot >= 1.0 && slot <= static_cast<double>(PI2_LONGEST_SLOT)))
        refuse(what + " lets a packet take less than 1 ns or more than 2^53 ns.");
    return capacity;
}

using SizesTold = std::pair<std::string, Numbers>;

// The distribution of that name; its numbers stay where they are.
pi2_sizes sizes_of(const SizesTold &told, const std::string &what)
{
    const auto &[kind, numbers] = told;
    const std::vector<std::string> kinds = {"fixed", "exponential", "pareto", "empirical"};
    const pi2_sizes sizes = {1 + place_of(kind, kinds, what + " sizes"), numbers.size(), numbers.data()};
    if (sizes.kind == PI2_SIZES_EMPIRICAL) {
        if (numbers.empty() || numbers.size() > static_cast<std::size_t>(PI2_MOST_SIZES))
            refuse(what + " sizes are " + std::to_string(numbers.size()) + " numbers, outside [1, "
                   + std::to_string(PI2_MOST_SIZES) + "].");
    } else {
        require_count(numbers, sizes.kind == PI2_SIZES_PARETO ? 3 : 1, what + " sizes " + kind);
    }
    for (const double number : numbers)
        if (!(number > 0.0))
            refuse(what + " sizes have a number that is not above 0.");
    return sizes;
}

// ns, of which `least` or more are a mean time.
double mean_time(const Entries &e, const char *name, double least)
{
    const auto ns = e.as<double>(name);
    if (!(ns == 0.0 || (ns >= least && std::isfinite(ns))))
        refuse(e.what + " " + name + " is no mean time in ns.");
    return ns;
}

pi2_packet_class class_of(nb::handle item, const std::string &what, SizesTold &sizes)
{
    const Entries e(item, what,
                    {"congestion", "parameters", "interval", "count", "base_rtt", "start", "stop", "start_jitter",
                     "initial_window", "slow_start", "delayed_ack", "paced", "ecn", "sizes", "idle", "gap", "route",
                     "hops", "back", "back_hops"});
    pi2_packet_class c = {};
    if (e.is_none("congestion")) {
        c.interval = e.as<double>("interval");
        if (!(c.interval >= 1.0 && c.interval <= static_cast<double>(PI2_LONGEST_SLOT)))
            refuse(what + " interval is outside [1, 2^53] ns.");
    } else {
        const auto name = e.as<std::string>("congestion");
        c.congestion = named(pi2_find_congestion(name.c_str()), name, "congestion control");
        read_parameters(c.congestion, e.as<Parameters>("parameters"), c.parameters);
    }
    c.count = static_cast<std::uint32_t>(e.whole("count", 0, PI2_MOST_FLOWS));
    c.base_rtt = e.whole("base_rtt", 0, PI2_LONGEST);
    c.start = e.whole("start", 0, PI2_LONGEST);
    c.stop = e.is_none("stop") ? PI2_NEVER : e.whole("stop", c.start, PI2_LONGEST);
    c.start_jitter = e.whole("start_jitter", 0, PI2_LONGEST);
    c.initial_window = static_cast<std::uint32_t>(e.whole("initial_window", 1, PI2_MOST_WINDOW));
    c.slow_start = e.as<bool>("slow_start");
    c.delayed_ack = e.as<bool>("delayed_ack");
    c.paced = e.as<bool>("paced");
    c.ecn = static_cast<int>(e.whole("ecn", PI2_NOT_ECT, PI2_ECT0));
    c.idle = mean_time(e, "idle", 0.0);
    c.gap = mean_time(e, "gap", 1.0);
    if (!e.is_none("sizes")) {
        if (!c.congestion)
            refuse(what + " sends at a constant rate, and has no transfers.");
        sizes = e.as<SizesTold>("sizes");
        c.sizes = sizes_of(sizes, what);
    }
    return c;
}

struct Name {
    const char *name;
    int column;
};

constexpr Name BIN[] = {{"capacity", PI2_BIN_CAPACITY},
                        {"controller", PI2_BIN_CONTROLLER},
                        {"classic", PI2_BIN_CLASSIC},
                        {"scalable", PI2_BIN_SCALABLE}};
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

class PacketRun {
  public:
    PacketRun(Told<std::int64_t> duration, Told<std::int64_t> packet_size, const AllDescribed &links,
              const AllDescribed &classes, const AllDescribed &changes, Told<std::uint64_t> seed,
              Told<std::int64_t> bin, Told<std::int64_t> trace)
    {
        pi2_packet_scenario s = {};
        s.duration = whole(duration, 1, PI2_LONGEST, "duration");
        s.packet_size = static_cast<int>(whole(packet_size, PI2_LEAST_PACKET, PI2_MOST_PACKET, "packet_size"));
        s.seed = as<std::uint64_t>(seed, "seed");
        s.bin = whole(bin, 1, s.duration, "bin");
        s.trace = whole(trace, 0, PI2_MOST_TRACE, "trace");
        const Links served = read_links(links, s.packet_size);
        s.link_count = static_cast<int>(served.all.size());
        s.links = served.all.data();
        const Classes sent = read_classes(classes, s);
        s.class_count = static_cast<int>(sent.all.size());
        s.classes = sent.all.data();
        require_rows(s, sent.routes.size());
        std::vector<std::int64_t> counts;
        const std::vector<pi2_packet_change> schedule = read_changes(changes, s, counts);
        s.change_count = static_cast<int>(schedule.size());
        s.changes = schedule.data();
        s.counts = counts.data();
        require_few(s);
        int refused = 0;
        run.reset(pi2_run_new(&s, &refused));
        require_sound(!refused, refused ? s.links[refused - 1].qdisc->name : "");
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
        found["delays"] = array_of<std::uint32_t>(o.delays, 1, {blocks, legs, std::size_t{PI2_DELAY_BUCKETS}});
        found["segments"] = array_of<std::uint32_t>(o.delivered, 1, {blocks, flows});
        found["transfers"] = transfers_of(o);
        found["trace"] = trace_of(o);
        found["block"] = o.block;
        found["events"] = o.events;
        found["packets"] = o.packets;
        return found;
    }

  private:
    // What they point to lies beside them.
    struct Links {
        std::vector<pi2_packet_link> all;
        std::vector<Numbers> pushes;
    };
    struct Classes {
        std::vector<pi2_packet_class> all;
        std::vector<std::uint32_t> routes;
        std::vector<std::int64_t> hops;
        std::deque<SizesTold> sizes; // which stay where they are as there come to be more
    };

    static void require_between(std::size_t count, std::int64_t most, const char *what)
    {
        if (count == 0 || count > static_cast<std::size_t>(most))
            refuse(std::to_string(count) + what + " are outside [1, " + std::to_string(most) + "].");
    }

    static pi2_packet_link link_of(nb::handle item, int packet_size, const std::string &what, Numbers &pushes)
    {
        const Entries e(item, what,
                        {"capacity", "kind", "delay_on", "ack_jitter", "buffer", "qdisc", "parameters", "pushes"});
        pi2_packet_link l = {};
        l.capacity = capacity_of(e["capacity"], packet_size, what + " capacity");
        l.kind = e.one_of("kind", {"wire", "htb"});
        l.delay_on = e.one_of("delay_on", {"return", "forward", "split"});
        l.ack_jitter = e.whole("ack_jitter", 0, PI2_MOST_JITTER);
        l.buffer = e.whole("buffer", 1, PI2_MOST_BUFFER);
        const auto name = e.as<std::string>("qdisc");
        l.qdisc = named(pi2_find_qdisc(name.c_str()), name, "queue discipline");
        read_parameters(l.qdisc, e.as<Parameters>("parameters"), l.qdisc_parameters);
        const auto given = e.as<Line<const double>>("pushes");
        pushes.assign(given.data(), given.data() + given.shape(0));
        l.push_count = pushes.size();
        if (l.push_count > 0 && !l.qdisc->push)
            refuse(name + " takes no pushes.");
        return l;
    }

    static Links read_links(const AllDescribed &links, int packet_size)
    {
        Links found;
        for (nb::handle item : links) {
            const std::string what = "link " + std::to_string(found.all.size());
            found.pushes.emplace_back();
            found.all.push_back(link_of(item, packet_size, what, found.pushes.back()));
        }
        require_between(found.all.size(), PI2_MOST_LINKS, " links");
        for (std::size_t i = 0; i < found.all.size(); i++)
            found.all[i].pushes = found.pushes[i].data();
        return found;
    }

    struct Way {
        std::vector<std::uint32_t> links;
        std::vector<std::int64_t> hops;
    };

    static Way way_of(nb::handle item, const char *links, const char *hops)
    {
        return {as<std::vector<std::uint32_t>>(item[links], links), as<std::vector<std::int64_t>>(item[hops], hops)};
    }

    // Over links that there are, none twice, with hops that leave of base_rtt what is not negative.
    static void require_route(const std::string &what, const Way &way, std::vector<std::size_t> &crossed,
                              std::size_t number, std::int64_t &left)
    {
        const auto &[route, hops] = way;
        if (route.size() != hops.size())
            refuse(what + " has " + std::to_string(route.size()) + " links and " + std::to_string(hops.size())
                   + " hops.");
        for (const std::uint32_t link : route) {
            if (link >= crossed.size() || crossed[link] == number + 1)
                refuse(what + " route has link " + std::to_string(link)
                       + (link >= crossed.size() ? ", which is not there." : " twice."));
            crossed[link] = number + 1;
        }
        for (const std::int64_t hop : hops) {
            if (hop < 0 || hop > left)
                refuse(what + " hops are below 0, or more than base_rtt.");
            left -= hop;
        }
    }

    static Classes read_classes(const AllDescribed &classes, const pi2_packet_scenario &s)
    {
        Classes found;
        std::vector<std::size_t> crossed(static_cast<std::size_t>(s.link_count)); // by which class last, from 1 on
        for (nb::handle item : classes) {
            const std::size_t number = found.all.size();
            const std::string what = "class " + std::to_string(number);
            pi2_packet_class c = class_of(item, what, found.sizes.emplace_back());
            const Way there = way_of(item, "route", "hops"), back = way_of(item, "back", "back_hops");
            std::int64_t left = c.base_rtt;
            if (there.links.empty())
                refuse(what + " route has no link.");
            require_route(what, there, crossed, number, left);
            require_route(what, back, crossed, number, left);
            c.route_length = static_cast<std::uint32_t>(there.links.size());
            c.back_length = static_cast<std::uint32_t>(back.links.size());
            found.all.push_back(c);
            for (const Way *way : {&there, &back}) {
                found.routes.insert(found.routes.end(), way->links.begin(), way->links.end());
                found.hops.insert(found.hops.end(), way->hops.begin(), way->hops.end());
            }
        }
        require_between(found.all.size(), PI2_MOST_CLASSES, " classes");
        require_between(found.routes.size(), PI2_MOST_LEGS, " links on all routes");
        std::size_t at = 0;
        for (pi2_packet_class &c : found.all) {
            c.route = found.routes.data() + at;
            c.hops = found.hops.data() + at;
            at += c.route_length;
            c.back = found.routes.data() + at;
            c.back_hops = found.hops.data() + at;
            at += c.back_length;
        }
        return found;
    }

    static void require_rows(const pi2_packet_scenario &s, std::size_t legs)
    {
        const std::int64_t bins = (s.duration - 1) / s.bin + 1;
        std::int64_t rows = s.class_count + s.link_count + static_cast<std::int64_t>(legs);
        for (int i = 0; i < s.link_count; i++)
            rows += s.links[i].qdisc->bands;
        if (bins > PI2_MOST_ROWS / rows)
            refuse("bin leaves " + std::to_string(bins) + " rows, which are too many.");
    }

    // Of each change: when (ns), capacity (bit/s, 0: as it is) of which link, flows of each class (-1: as they are).
    static std::vector<pi2_packet_change> read_changes(const AllDescribed &changes, const pi2_packet_scenario &s,
                                                       std::vector<std::int64_t> &counts)
    {
        std::vector<pi2_packet_change> schedule;
        const std::int64_t members = s.class_count;
        std::int64_t before = 0;
        for (nb::handle item : changes) {
            const std::string what = "change " + std::to_string(schedule.size());
            const Entries e(item, what, {"at", "capacity", "link", "counts"});
            pi2_packet_change change = {};
            change.at = before = e.whole("at", before, s.duration);
            change.link = static_cast<std::uint32_t>(e.whole("link", 0, s.link_count - 1));
            if (e.as<double>("capacity") != 0.0)
                change.capacity = capacity_of(e["capacity"], s.packet_size, what + " capacity");
            schedule.push_back(change);
            const auto flows = e.as<std::vector<std::int64_t>>("counts");
            if (flows.size() != static_cast<std::size_t>(members))
                refuse(what + " has " + std::to_string(flows.size()) + " counts instead of "
                       + std::to_string(members) + ".");
            for (std::int64_t n : flows)
                if (n < -1 || n > PI2_MOST_FLOWS)
                    refuse(what + " count = " + std::to_string(n) + " is outside [-1, " + std::to_string(PI2_MOST_FLOWS)
                           + "].");
            counts.insert(counts.end(), flows.begin(), flows.end());
        }
        return schedule;
    }

    static void require_few(const pi2_packet_scenario &s)
    {
        std::vector<pi2_class_step> steps(static_cast<std::size_t>(s.change_count) + 2);
        std::uint64_t flows = 0;
        int count;
        for (int i = 0; i < s.class_count; i++)
            flows += pi2_class_steps(&s, i, steps.data(), &count);
        if (flows > PI2_MOST_FLOWS)
            refuse(std::to_string(flows) + " flows are more than " + std::to_string(PI2_MOST_FLOWS) + ".");
    }

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
    "split") and ack_jitter (ns) of those who cross it last, buffer (packets); qdisc, a queue
    discipline of the kernel, and the parameters of that; pushes, what is added to the controller's
    variable before each update, from the first on.
classes
    Of each class: congestion, its control (None: constant bit rate), and the parameters of
    that; interval between packets (ns, of a constant bit rate); count; base_rtt, start, stop
    (None: the end) and start_jitter (ns); initial_window (segments); slow_start, delayed_ack,
    paced (bool); ecn, the field (0 Not-ECT, 1 ECT(1), 2 ECT(0)); sizes of its transfers, as for
    packet_sizes (None: its flows send on and on); idle, the mean time between two of a flow (ns),
    or gap, that between two arrivals, 0: none arrive; route, the numbers of the links that it
    crosses, and hops, the propagation times to each (ns); back and back_hops, the same of its
    acknowledgements.
changes
    Of each change, in the order of time: at (ns), capacity (bit/s, 0: as it is) of which link,
    and counts, the flows of every class (-1: as they are).
seed
    In [0, 2^64).
bin
    Length of a row of statistics (ns).
trace
    Events recorded at most.

Raises
------
ValueError
    A name is unknown or missing, or a number is out of range.
)")
        .def(nb::init<Told<std::int64_t>, Told<std::int64_t>, const AllDescribed &, const AllDescribed &,
                      const AllDescribed &, Told<std::uint64_t>, Told<std::int64_t>, Told<std::int64_t>>(),
             nb::arg("duration"), nb::arg("packet_size"), nb::arg("links"), nb::arg("classes"), nb::arg("changes"),
             nb::arg("seed"), nb::arg("bin"), nb::arg("trace"))
        .def("advance", &PacketRun::advance, nb::arg("events"),
             "Handle up to that many events: \"more\", \"done\" or \"no memory\"; releases the GIL.")
        .def("outcome", &PacketRun::outcome,
             R"(Copies of all that was counted so far, by the names of the header's columns.

"bins": arrays (bins, links) of capacity, controller, classic, scalable. "bands": (bins, bands)
of bytes and square, the bands link after link. "legs", each class at each link of its route:
(bins, legs) of arrivals, departures, bits, drops, marks, sojourn (ns). "classes": (bins,
classes) of window, flows. "totals": (legs,) of the causes, queued, in_flight; (classes,) of
retransmissions, timeouts, turned_away. "delays": (blocks, legs, buckets). "segments": (blocks,
flows). "transfers": (transfers,) of begun, took (ns, -1: unfinished), flow, size. "trace":
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
