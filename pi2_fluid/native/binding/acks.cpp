// Part of pi2_fluid._core: one trajectory of the fluid by the clock of acknowledgements.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "binding/acks.h"
#include "binding/arguments.h"
#include "binding/trajectories.h"
#include "fluid/acks/acks.h"

namespace nb = nanobind;
using namespace binding;

namespace {

void require_clocked(const pi2_aqm_law *law, double interval)
{
    if (!(std::isfinite(interval) && interval > 0.0) || law->drift || (law->queue_signals && law->bands == 1))
        refuse(std::string(law->name) + " does not hold what it signals until the next update.");
}

pi2_acks_node node_of(nb::handle item, const std::string &what, Numbers &pushes, Kept &borrowed)
{
    const Entries e(item, what,
                    {"capacity", "buffer", "aqm", "update_interval", "state", "at_dequeue", "head", "waited", "pushes"});
    pi2_acks_node node = {};
    const AqmLaw &aqm = law_of<AqmLaw>(e, "aqm", borrowed);
    double state[PI2_AQM_STATES];
    node.aqm = aqm.law;
    node.parameters = aqm.parameters;
    node.update_interval = e.as<double>("update_interval");
    require_clocked(node.aqm, node.update_interval);
    node.capacity = e.as<double>("capacity");
    if (!(node.capacity > 0.0))
        refuse(what + " capacity is not above 0.");
    node.buffer = e.as<double>("buffer");
    copy(e.as<Numbers>("state"), node.state, node.aqm->initial(node.parameters, state), what + " state");
    node.at_dequeue = e.as<bool>("at_dequeue");
    node.head = e.as<bool>("head");
    node.waited = e.as<double>("waited");
    pushes = e.as<Numbers>("pushes");
    node.push_count = pushes.size();
    node.pushes = pushes.data();
    return node;
}

pi2_acks_visit visit_of(nb::handle item, const std::string &what, const std::vector<pi2_acks_node> &nodes)
{
    const Entries e(item, what,
                    {"node", "band", "signal", "thinned", "hop", "rate", "took", "waited", "met", "p"});
    pi2_acks_visit visit = {};
    visit.node = static_cast<int>(e.whole("node", 0, static_cast<std::int64_t>(nodes.size()) - 1));
    visit.band = static_cast<int>(e.whole("band", 0, nodes[visit.node].aqm->bands - 1));
    visit.signal = signal_of(e);
    visit.thinned = e.as<bool>("thinned");
    visit.hop = e.as<double>("hop");
    if (!(visit.hop >= 0.0 && std::isfinite(visit.hop)))
        refuse(what + " hop is not finite and at least 0.");
    visit.rate = e.as<double>("rate");
    visit.took = e.as<double>("took");
    visit.waited = e.as<double>("waited");
    visit.met = e.as<double>("met");
    visit.p = e.as<double>("p");
    return visit;
}

using Visits = std::vector<pi2_acks_visit>;

pi2_acks_class class_of(nb::handle item, const std::string &what, const std::vector<pi2_acks_node> &nodes, Visits &way,
                        Kept &borrowed)
{
    const Entries e(item, what,
                    {"law", "state", "steady", "slow_start", "spreads", "copied", "count", "base_rtt", "back",
                     "round_trip", "start", "stop", "start_jitter", "before", "cutting", "visits"});
    pi2_acks_class c = {};
    const SenderLaw &sender = law_of<SenderLaw>(e, "law", borrowed);
    const std::string name = sender.law->name;
    c.law = sender.law;
    c.parameters = sender.parameters;
    c.steady = e.as<bool>("steady");
    if (!c.steady && !c.law->acked)
        refuse(name + " has no form by the clock of acknowledgements.");
    c.slow_start = e.as<bool>("slow_start");
    c.spreads = e.as<bool>("spreads");
    c.copied = static_cast<int>(e.whole("copied", -1, 1 << 30));
    copy(e.as<Numbers>("state"), c.x, c.law->states, name + "'s state");
    c.count = e.as<double>("count");
    c.base_rtt = e.as<double>("base_rtt");
    c.back = e.as<double>("back");
    c.round_trip = e.as<double>("round_trip");
    c.start = e.as<double>("start");
    c.stop = e.as<double>("stop");
    c.start_jitter = e.as<double>("start_jitter");
    c.before = e.as<double>("before");
    c.cutting = e.as<double>("cutting");
    for (nb::handle visit : e.as<nb::list>("visits"))
        way.push_back(visit_of(visit, what + " visit " + std::to_string(way.size()), nodes));
    if (way.empty())
        refuse(what + " visits is empty.");
    require(c.count > 0.0 && (!c.spreads || c.round_trip > 0.0), "a class has no flows, or no round trip.");
    c.length = static_cast<int>(way.size());
    c.visits = way.data();
    return c;
}

void require_copies(const std::vector<pi2_acks_class> &classes)
{
    for (const pi2_acks_class &c : classes)
        if (c.copied >= 0
            && (static_cast<std::size_t>(c.copied) >= classes.size() || c.steady || classes[c.copied].steady))
            refuse("no class has the number that copied = " + std::to_string(c.copied) + " says, and a window.");
}

std::vector<pi2_routes_change> changes_of(const std::vector<std::tuple<double, int, double>> &items, std::size_t nodes)
{
    std::vector<pi2_routes_change> changes;
    for (const auto &[at, node, capacity] : items) {
        require(capacity > 0.0, "the capacity of a change is not above 0.");
        require(node >= 0 && static_cast<std::size_t>(node) < nodes, "a change is of no node.");
        changes.push_back({at, node, capacity});
    }
    return changes;
}

// Refuses an order in which something would follow from what is not known yet: where no more time passes than a step.
void require_order(const pi2_acks_problem &p, const std::vector<int> &order)
{
    const double longest = p.step * (1.0 + 1e-6);
    std::vector<int> place(order.size(), -1);
    require(order.size() == static_cast<std::size_t>(p.class_count + p.node_count), "order has another length.");
    for (std::size_t j = 0; j < order.size(); j++) {
        require(order[j] >= 0 && static_cast<std::size_t>(order[j]) < order.size() && place[order[j]] < 0,
                "order has not all classes and nodes once.");
        place[order[j]] = static_cast<int>(j);
    }
    for (int i = 0; i < p.class_count; i++) {
        const pi2_acks_class &c = p.classes[i];
        int former = place[i];
        for (int j = 0; j < c.length; j++) {
            const int here = place[p.class_count + c.visits[j].node];
            require(c.visits[j].hop > longest || former < here, "order asks a node before what comes to it.");
            former = here;
        }
        if (!(p.step > 0.0) || (!c.steady && !(c.back > longest || former < place[i])))
            refuse("step = " + std::to_string(p.step) + " s is not above 0 and below the shortest path.");
    }
}

class AcksRun : public Trajectory<pi2_acks, pi2_acks_advance, pi2_acks_destroy> {
  public:
    AcksRun(double duration, const AllDescribed &nodes, const AllDescribed &classes,
            const std::vector<std::tuple<double, int, double>> &changes, const std::vector<int> &order, bool sum,
            double past, Told<Dict<double>> accuracy)
    {
        pi2_acks_problem p = {};
        const Entries limits(accuracy, "accuracy", {"step", "most_steps", "most_bytes"});
        std::vector<pi2_acks_node> all_nodes;
        std::vector<pi2_acks_class> all_classes;
        std::vector<Numbers> pushes(nodes.size());
        std::vector<Visits> ways(classes.size());
        for (nb::handle item : nodes) {
            const std::size_t k = all_nodes.size();
            all_nodes.push_back(node_of(item, "node " + std::to_string(k), pushes[k], borrowed));
            queues += static_cast<std::size_t>(all_nodes.back().aqm->bands);
        }
        require(!all_nodes.empty(), "nodes is empty.");
        for (nb::handle item : classes) {
            const std::size_t i = all_classes.size();
            all_classes.push_back(class_of(item, "class " + std::to_string(i), all_nodes, ways[i], borrowed));
            visits += ways[i].size();
        }
        require(!all_classes.empty(), "classes is empty.");
        require_copies(all_classes);
        require(past > 0.0, "past is not above 0.");
        const std::vector<pi2_routes_change> schedule = changes_of(changes, all_nodes.size());
        p.duration = duration;
        p.past = past;
        p.sum = sum;
        p.step = limits.as<double>("step");
        p.most_steps = static_cast<long long>(std::min(limits.as<double>("most_steps"), 9e18));
        p.most_bytes = limits.as<double>("most_bytes");
        p.node_count = static_cast<int>(all_nodes.size());
        p.nodes = all_nodes.data();
        p.class_count = static_cast<int>(all_classes.size());
        p.classes = all_classes.data();
        p.change_count = static_cast<int>(schedule.size());
        p.changes = schedule.data();
        require_order(p, order);
        p.order = order.data();
        begin(pi2_acks_create(&p));
        places = all_nodes.size();
        members = all_classes.size();
    }

    double time() const { return pi2_acks_time(run.get()); }
    long long steps() const { return pi2_acks_steps(run.get()); }
    std::size_t kept() const { return pi2_acks_kept(run.get()); }

    std::map<std::string, Numbers> counts() const
    {
        Numbers sent(members), acked(members), came(visits), left(visits), arrived(queues), lost(queues);
        pi2_acks_count(run.get(), {sent.data(), acked.data(), came.data(), left.data(), arrived.data(), lost.data()});
        return {{"sent", sent}, {"acked", acked}, {"came", came}, {"left", left}, {"arrived", arrived}, {"lost", lost}};
    }
};

} // namespace

void register_acks(nb::module_ &module)
{
    nb::class_<AcksRun> acks_run(module, "AcksRun",
                                 R"(One trajectory by the clock of acknowledgements, over one node or several, in the making (native/fluid/acks/acks.h).

Parameters
----------
duration
    Seconds.
nodes
    Of each node: capacity (packets/s), buffer (packets); aqm, a queue law which holds what it
    signals, and update_interval (s); the controller's state before time 0; at_dequeue, whether
    packets are signalled as they leave; head, whether the controller measures how long what leaves
    has waited; waited, how long Classic packets waited before time 0 (s); pushes, what is added to
    the controller's variable before each update, from the first on.
classes
    Of each class: law, a window law, and its state; steady, whether it sends
    at a constant rate; slow_start; spreads, whether a cut is obeyed over round_trip (s); copied,
    the class with whose window it begins, -1: its own; count; base_rtt, and back, its part behind
    the last node, start, stop, start_jitter (s); in the time before 0, before, what all have sent
    (packets/s), and cutting, what a flow was cut by (segments/s). Of each of its visits: node,
    band; signal ("classic", "scalable" or None), thinned; hop (s) to there; and in the time before
    0, rate (packets/s), took (s) from the source, waited (s), and the probabilities met, of a
    signal before, and p, of one there.
changes
    Of each change of a capacity: at (s), node, packets/s.
order
    In which a step asks classes, by number, and nodes, by the number of classes more.
sum
    Whether signals of several nodes are added instead of drawn one by one.
past
    How far the time before 0 reaches back (s).
accuracy
    step (s), most_steps, most_bytes that the past may take.

Raises
------
ValueError
    A name is unknown or missing, a law has no form by this clock, or the order is no such.
)");
    acks_run.def(nb::init<double, const AllDescribed &, const AllDescribed &,
                          const std::vector<std::tuple<double, int, double>> &, const std::vector<int> &, bool, double,
                          Told<Dict<double>>>(),
                 nb::arg("duration"), nb::arg("nodes"), nb::arg("classes"), nb::arg("changes"), nb::arg("order"),
                 nb::arg("sum"), nb::arg("past"), nb::arg("accuracy"));
    define_advance(acks_run)
        .def("counts", &AcksRun::counts,
             "Packets until now: sent and acked of each class; came, lost ones included, and left at each of its visits;"
             " arrived in each queue, and lost there or before.")
        .def_prop_ro("kept", &AcksRun::kept, "How many instants of the past are kept.");
}
