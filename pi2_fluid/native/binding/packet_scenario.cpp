// Whatever comes through this door is checked here, so that the kernel need not: it would divide by it, shift by it or
// allocate as much.
#include "binding/packet_scenario.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

namespace nb = nanobind;

namespace binding {
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

// ns, of which `least` or more are a mean time.
double mean_time(const Entries &e, const char *name, double least)
{
    const auto ns = e.as<double>(name);
    if (!(ns == 0.0 || (ns >= least && std::isfinite(ns))))
        refuse(e.what + " " + name + " is no mean time in ns.");
    return ns;
}

// What nobody answers: how often it sends how many bytes, evenly or at random, and when it pauses.
void read_source(nb::handle item, const std::string &what, pi2_packet_class &c)
{
    const Entries e(item, what, {"interval", "burst", "spacing", "poisson", "sends", "pause"});
    const auto longest = static_cast<double>(PI2_LONGEST_SLOT);
    c.interval = e.as<double>("interval");
    if (!(c.interval >= 1.0 && c.interval <= longest))
        refuse(what + " interval is outside [1, 2^53] ns.");
    c.burst = static_cast<std::uint32_t>(e.whole("burst", 1, PI2_MOST_BURST));
    c.spacing = e.as<double>("spacing");
    if (!(c.spacing >= 0.0 && c.spacing * c.packet_size <= longest))
        refuse(what + " spacing is no number of ns, or lets a packet take more than 2^53.");
    c.poisson = e.as<bool>("poisson");
    c.pause = mean_time(e, "pause", 1.0);
    c.sends = mean_time(e, "sends", 1.0);
    if (c.pause > 0.0 && !(c.sends >= 1e-3 * c.interval && c.sends <= longest && c.pause <= longest))
        refuse(what + " sends for less than a thousandth of its interval, or it or its pause for more than 2^53 ns.");
}

pi2_packet_class class_of(nb::handle item, int packet_size, const std::string &what, SizesTold &sizes)
{
    const Entries e(item, what,
                    {"congestion", "parameters", "packet_size", "source", "count", "base_rtt", "start", "stop", "start_jitter",
                     "initial_window", "slow_start", "delayed_ack", "push_every", "paced", "ecn", "sizes", "idle", "gap", "route",
                     "hops", "back", "back_hops"});
    pi2_packet_class c = {};
    c.packet_size = static_cast<int>(e.whole("packet_size", PI2_LEAST_PACKET, packet_size));
    if (e.is_none("congestion")) {
        read_source(e["source"], what + " source", c);
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
    c.push_every = static_cast<int>(e.whole("push_every", PI2_PUSH_OF_LINUX, PI2_MOST_WINDOW));
    c.paced = e.as<int>("paced");
    c.ecn = static_cast<int>(e.whole("ecn", PI2_NOT_ECT, PI2_ECT0));
    c.idle = mean_time(e, "idle", 0.0);
    c.gap = mean_time(e, "gap", 1.0);
    if (!e.is_none("sizes")) {
        if (!c.congestion)
            refuse(what + " is a source that nobody answers, and has no transfers.");
        sizes = e.as<SizesTold>("sizes");
        c.sizes = sizes_of(sizes, what);
    }
    return c;
}

void require_between(std::size_t count, std::int64_t most, const char *what)
{
    if (count == 0 || count > static_cast<std::size_t>(most))
        refuse(std::to_string(count) + what + " are outside [1, " + std::to_string(most) + "].");
}

pi2_packet_link link_of(nb::handle item, int packet_size, const std::string &what, Numbers &pushes)
{
    const Entries e(item, what,
                    {"capacity", "kind", "delay_on", "ack_jitter", "buffer", "loss", "loss_burst", "aggregate",
                     "aggregate_time", "ring", "bql", "qdisc", "parameters", "pushes"});
    pi2_packet_link l = {};
    l.capacity = capacity_of(e["capacity"], packet_size, what + " capacity");
    l.kind = e.one_of("kind", {"wire", "htb"});
    l.delay_on = e.one_of("delay_on", {"return", "forward", "split"});
    l.ack_jitter = e.whole("ack_jitter", 0, PI2_MOST_JITTER);
    l.buffer = e.whole("buffer", 1, PI2_MOST_BUFFER);
    l.loss = e.as<double>("loss");
    l.loss_burst = e.as<double>("loss_burst");
    if (!(l.loss >= 0.0 && l.loss < 1.0)
        || !(l.loss_burst == 0.0 || (l.loss_burst >= 1.0 && l.loss <= l.loss_burst * (1.0 - l.loss))))
        refuse(what + " loss and loss_burst are no shares and lengths of a chain.");
    l.aggregate = static_cast<std::uint32_t>(e.whole("aggregate", 1, l.kind == PI2_LINK_HTB ? 1 : PI2_MOST_BUFFER));
    l.aggregate_time = e.whole("aggregate_time", 0, PI2_LONGEST_SLOT);
    const int plain = l.kind == PI2_LINK_WIRE && l.aggregate == 1;
    l.ring = static_cast<std::uint32_t>(e.whole("ring", 0, plain ? PI2_MOST_BUFFER : 0));
    l.bql = !e.is_none("bql");
    if (l.bql) {
        const auto range = e.as<std::vector<std::int64_t>>("bql");
        if (range.size() != 2 || range[0] < 0 || range[1] < range[0] || range[1] > PI2_LONGEST || l.ring == 0)
            refuse(what + " bql is no range of bytes, or there is no ring.");
        l.bql_least = range[0];
        l.bql_most = range[1];
    }
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

struct Way {
    std::vector<std::uint32_t> links;
    std::vector<std::int64_t> hops;
};

Way way_of(nb::handle item, const char *links, const char *hops)
{
    return {as<std::vector<std::uint32_t>>(item[links], links), as<std::vector<std::int64_t>>(item[hops], hops)};
}

// Over links that there are, none twice, with hops that leave of base_rtt what is not negative.
void require_route(const std::string &what, const Way &way, std::vector<std::size_t> &crossed, std::size_t number,
                   std::int64_t &left)
{
    const auto &[route, hops] = way;
    if (route.size() != hops.size())
        refuse(what + " has " + std::to_string(route.size()) + " links and " + std::to_string(hops.size()) + " hops.");
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

} // namespace

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

PacketScenario::PacketScenario(Told<std::int64_t> duration, Told<std::int64_t> packet_size, const AllDescribed &links,
                               const AllDescribed &classes, const AllDescribed &changes, Told<std::uint64_t> seed,
                               Told<std::int64_t> bin, Told<std::int64_t> trace, const AllDescribed &detours)
{
    problem.duration = whole(duration, 1, PI2_LONGEST, "duration");
    problem.packet_size = static_cast<int>(whole(packet_size, PI2_LEAST_PACKET, PI2_MOST_PACKET, "packet_size"));
    problem.seed = as<std::uint64_t>(seed, "seed");
    problem.bin = whole(bin, 1, problem.duration, "bin");
    problem.trace = whole(trace, 0, PI2_MOST_TRACE, "trace");
    read_links(links);
    read_classes(classes);
    require_rows();
    read_changes(changes);
    read_detours(detours);
    require_few();
}

void PacketScenario::read_links(const AllDescribed &described)
{
    for (nb::handle item : described) {
        const std::string what = "link " + std::to_string(links.size());
        pushes.emplace_back();
        links.push_back(link_of(item, problem.packet_size, what, pushes.back()));
    }
    require_between(links.size(), PI2_MOST_LINKS, " links");
    for (std::size_t i = 0; i < links.size(); i++)
        links[i].pushes = pushes[i].data();
    problem.link_count = static_cast<int>(links.size());
    problem.links = links.data();
}

void PacketScenario::read_classes(const AllDescribed &described)
{
    std::vector<std::size_t> crossed(links.size()); // by which class last, from 1 on
    for (nb::handle item : described) {
        const std::size_t number = classes.size();
        const std::string what = "class " + std::to_string(number);
        pi2_packet_class c = class_of(item, problem.packet_size, what, sizes.emplace_back());
        const Way there = way_of(item, "route", "hops"), back = way_of(item, "back", "back_hops");
        std::int64_t left = c.base_rtt;
        if (there.links.empty())
            refuse(what + " route has no link.");
        require_route(what, there, crossed, number, left);
        require_route(what, back, crossed, number, left);
        c.route_length = static_cast<std::uint32_t>(there.links.size());
        c.back_length = static_cast<std::uint32_t>(back.links.size());
        classes.push_back(c);
        for (const Way *way : {&there, &back}) {
            routes.insert(routes.end(), way->links.begin(), way->links.end());
            hops.insert(hops.end(), way->hops.begin(), way->hops.end());
        }
    }
    require_between(classes.size(), PI2_MOST_CLASSES, " classes");
    require_between(routes.size(), PI2_MOST_LEGS, " links on all routes");
    std::size_t at = 0;
    for (pi2_packet_class &c : classes) {
        c.route = routes.data() + at;
        c.hops = hops.data() + at;
        at += c.route_length;
        c.back = routes.data() + at;
        c.back_hops = hops.data() + at;
        at += c.back_length;
    }
    problem.class_count = static_cast<int>(classes.size());
    problem.classes = classes.data();
}

// Of each change: when (ns), capacity (bit/s, -1: as it is) of which link, flows of each class (-1: as they are).
void PacketScenario::read_changes(const AllDescribed &described)
{
    std::int64_t before = 0;
    for (nb::handle item : described) {
        const std::string what = "change " + std::to_string(changes.size());
        const Entries e(item, what, {"at", "capacity", "link", "counts"});
        pi2_packet_change change = {};
        change.at = before = e.whole("at", before, problem.duration);
        change.link = static_cast<std::uint32_t>(e.whole("link", 0, problem.link_count - 1));
        change.capacity = e.as<double>("capacity");
        if (change.capacity != 0.0 && change.capacity != -1.0)
            change.capacity = capacity_of(e["capacity"], problem.packet_size, what + " capacity");
        changes.push_back(change);
        const auto flows = e.as<std::vector<std::int64_t>>("counts");
        if (flows.size() != classes.size())
            refuse(what + " has " + std::to_string(flows.size()) + " counts instead of "
                   + std::to_string(classes.size()) + ".");
        for (std::int64_t n : flows)
            if (n < -1 || n > PI2_MOST_FLOWS)
                refuse(what + " count = " + std::to_string(n) + " is outside [-1, " + std::to_string(PI2_MOST_FLOWS)
                       + "].");
        counts.insert(counts.end(), flows.begin(), flows.end());
    }
    problem.change_count = static_cast<int>(changes.size());
    problem.changes = changes.data();
    problem.counts = counts.data();
}

// Of each change of a path: when (ns), of which class, and its new base_rtt (ns).
void PacketScenario::read_detours(const AllDescribed &described)
{
    std::int64_t before = 0;
    for (nb::handle item : described) {
        const Entries e(item, "detour " + std::to_string(detours.size()), {"at", "class", "base_rtt"});
        pi2_packet_detour detour = {};
        detour.at = before = e.whole("at", before, problem.duration);
        detour.class_ = static_cast<std::uint32_t>(e.whole("class", 0, problem.class_count - 1));
        const pi2_packet_class &c = classes[detour.class_];
        std::int64_t least = 0;
        for (std::uint32_t k = 0; k < c.route_length; k++)
            least += c.hops[k];
        for (std::uint32_t k = 0; k < c.back_length; k++)
            least += c.back_hops[k];
        detour.base_rtt = e.whole("base_rtt", least, PI2_LONGEST);
        detours.push_back(detour);
    }
    problem.detour_count = static_cast<int>(detours.size());
    problem.detours = detours.data();
}

void PacketScenario::require_rows() const
{
    const std::int64_t bins = (problem.duration - 1) / problem.bin + 1;
    auto rows = static_cast<std::int64_t>(classes.size() + links.size() + routes.size());
    for (const pi2_packet_link &link : links)
        rows += link.qdisc->bands;
    if (bins > PI2_MOST_ROWS / rows)
        refuse("bin leaves " + std::to_string(bins) + " rows, which are too many.");
}

void PacketScenario::require_few() const
{
    std::vector<pi2_class_step> steps(changes.size() + 2);
    std::uint64_t flows = 0;
    int count;
    for (int i = 0; i < problem.class_count; i++)
        flows += pi2_class_steps(&problem, i, steps.data(), &count);
    if (flows > PI2_MOST_FLOWS)
        refuse(std::to_string(flows) + " flows are more than " + std::to_string(PI2_MOST_FLOWS) + ".");
}

} // namespace binding
