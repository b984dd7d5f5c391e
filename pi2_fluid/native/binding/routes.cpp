// Part of pi2_fluid._core: one trajectory of the fluid over several nodes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/routes.h"
#include "binding/trajectories.h"
#include "fluid/routes/routes.h"

namespace nb = nanobind;
using namespace binding;

namespace {

pi2_routes_node node_of(nb::handle item, const std::string &what, bool continuous, Numbers &pushes, Kept &borrowed)
{
    const Entries e(item, what,
                    {"capacity", "buffer", "aqm", "update_interval", "queues", "state", "pushes"});
    pi2_routes_node node = {};
    const AqmLaw &aqm = law_of<AqmLaw>(e, "aqm", borrowed);
    const std::string name = aqm.law->name;
    node.aqm = aqm.law;
    node.parameters = aqm.parameters;
    node.capacity = e.as<double>("capacity");
    node.buffer = e.as<double>("buffer");
    if (!(node.capacity > 0.0))
        refuse(what + " capacity is not above 0.");
    node.update_interval = e.as<double>("update_interval");
    node.continuous = continuous;
    if (continuous && std::isfinite(node.update_interval) && !node.aqm->flow)
        refuse(name + " has no continuous form.");
    copy(e.as<Numbers>("queues"), node.queues, node.aqm->bands, what + " queues");
    copy(e.as<Numbers>("state"), node.state, node.aqm->initial(node.parameters, node.state), what + " state");
    pushes = e.as<Numbers>("pushes");
    node.push_count = pushes.size();
    node.pushes = pushes.data();
    return node;
}

// The nodes of a route, each once, and the hops to them.
void read_route(const Entries &e, std::size_t nodes, std::vector<int> &route, Numbers &hops)
{
    route = e.as<std::vector<int>>("nodes");
    hops = e.as<Numbers>("hops");
    if (route.empty())
        refuse(e.what + " nodes is empty.");
    for (int node : route)
        if (node < 0 || static_cast<std::size_t>(node) >= nodes || std::count(route.begin(), route.end(), node) != 1)
            refuse(e.what + " node " + std::to_string(node) + " is unknown, or comes twice.");
    require_count(hops, static_cast<int>(route.size()), e.what + " hops");
    for (double hop : hops)
        if (!(hop >= 0.0))
            refuse(e.what + " hops are not all at least 0.");
}

class RoutesRun : public Trajectory<pi2_routes, pi2_routes_advance, pi2_routes_destroy> {
  public:
    RoutesRun(double duration, const AllDescribed &nodes, const AllDescribed &classes, const AllDescribed &changes,
              bool continuous, bool sum, bool began, Told<Dict<double>> accuracy)
    {
        pi2_routes_problem p = {};
        const Entries limits(accuracy, "accuracy", {"step", "tolerance", "most_steps"});
        const std::size_t many = nodes.size();
        std::vector<pi2_routes_node> all_nodes;
        std::vector<pi2_routes_class> all_classes;
        std::vector<Numbers> pushes(many), hops(classes.size());
        std::vector<std::vector<int>> routes(hops.size());
        for (nb::handle item : nodes) {
            const std::size_t l = all_nodes.size();
            all_nodes.push_back(node_of(item, "node " + std::to_string(l), continuous, pushes[l], borrowed));
        }
        require(!all_nodes.empty(), "nodes is empty.");
        for (nb::handle item : classes) {
            const std::size_t i = all_classes.size();
            all_classes.push_back(class_of(item, "class " + std::to_string(i), all_nodes, routes[i], hops[i], borrowed));
            visits += routes[i].size();
        }
        require(!all_classes.empty(), "classes is empty.");
        Numbers counts;
        const std::vector<pi2_routes_change> schedule = changes_of(changes, many, hops.size(), counts);
        p.duration = duration;
        p.began = began;
        p.sum = sum;
        p.step = limits.as<double>("step");
        p.tolerance = limits.as<double>("tolerance");
        p.most_steps = static_cast<long long>(std::min(limits.as<double>("most_steps"), 9e18));
        p.node_count = static_cast<int>(many);
        p.nodes = all_nodes.data();
        p.class_count = static_cast<int>(all_classes.size());
        p.classes = all_classes.data();
        p.change_count = static_cast<int>(schedule.size());
        p.changes = schedule.data();
        p.counts = counts.data();
        begin(pi2_routes_create(&p));
        places = many;
        for (const pi2_routes_node &node : all_nodes)
            queues += static_cast<std::size_t>(node.aqm->bands);
        members = hops.size();
    }

    double time() const { return pi2_routes_time(run.get()); }
    long long steps() const { return pi2_routes_steps(run.get()); }

  private:
    static pi2_routes_class class_of(nb::handle item, const std::string &what, const std::vector<pi2_routes_node> &nodes,
                                     std::vector<int> &route, Numbers &hops, Kept &borrowed)
    {
        std::vector<std::string> names = class_names;
        names.insert(names.end(), {"nodes", "hops"});
        const Entries e(item, what, names);
        pi2_routes_class c = {read_class(e, borrowed), 0, nullptr, nullptr};
        read_route(e, nodes.size(), route, hops);
        for (int node : route)
            require_thinning(c.flows, nodes[node].aqm);
        c.length = static_cast<int>(route.size());
        c.nodes = route.data();
        c.hops = hops.data();
        return c;
    }

    static std::vector<pi2_routes_change> changes_of(const AllDescribed &items, std::size_t nodes, std::size_t classes,
                                                     Numbers &counts)
    {
        std::vector<pi2_routes_change> changes;
        for (nb::handle item : items) {
            const Entries e(item, "change " + std::to_string(changes.size()), {"at", "node", "capacity", "counts"});
            const int node = static_cast<int>(e.whole("node", 0, static_cast<std::int64_t>(nodes) - 1));
            const double capacity = e.as<double>("capacity");
            if (!std::isnan(capacity) && !(capacity > 0.0))
                refuse(e.what + " capacity is not above 0.");
            changes.push_back({e.as<double>("at"), node, capacity});
            counts.resize(counts.size() + classes);
            copy(e.as<Numbers>("counts"), counts.data() + counts.size() - classes, static_cast<int>(classes), e.what);
        }
        return changes;
    }
};

} // namespace

void register_routes(nb::module_ &module)
{
    nb::class_<RoutesRun> routes_run(module, "RoutesRun", R"(One trajectory of the fluid model, over one node or several, in the making (native/fluid/routes/routes.h).

Parameters
----------
duration
    Seconds.
nodes
    Of each node: capacity (packets/s), buffer (packets), aqm, a queue law; update_interval
    (s, inf: none), pushes; queues (packets of each band) and state of the controller
    before time 0.
classes
    Of each class: law, a window law, and its state; signal ("classic", "scalable" or None);
    thinned, slow_start (bool); count; base_rtt, start, stop, start_jitter (s); nodes, the numbers
    of those on the route, with hops (s) to each.
changes
    Of each change: at (s), node and its capacity (packets/s, NaN: as before), and counts of all
    classes, NaN: as before.
continuous
    Whether controllers move by their flow instead of their updates.
sum
    Whether signals of several nodes are added instead of drawn one by one.
began
    Whether all was as described before time 0, with signals, instead of empty and unsignalled.
accuracy
    step (s), tolerance (0: all steps of that length), most_steps.

Raises
------
ValueError
    A name is unknown or missing, or a route leads nowhere.
)");
    routes_run.def(nb::init<double, const AllDescribed &, const AllDescribed &, const AllDescribed &, bool, bool, bool,
                            Told<Dict<double>>>(),
                   nb::arg("duration"), nb::arg("nodes"), nb::arg("classes"), nb::arg("changes"), nb::arg("continuous"),
                   nb::arg("sum"), nb::arg("began"), nb::arg("accuracy"));
    define_advance(routes_run);
}
