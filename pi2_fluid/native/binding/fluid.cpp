// Part of pi2_fluid._core: one trajectory of the fluid.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "binding/arguments.h"
#include "binding/fluid.h"
#include "binding/laws.h"
#include "binding/trajectories.h"
#include "fluid/fluid.h"

namespace nb = nanobind;
using namespace binding;

namespace {

// Trajectories

pi2_fluid_class class_of(nb::handle item, const std::string &what, const pi2_aqm_law *aqm, Kept &borrowed)
{
    const pi2_fluid_class c = read_class(Entries(item, what, class_names), borrowed);
    require_thinning(c, aqm);
    return c;
}

// Of each change: when (s), capacity (packets/s), flows of each class; NaN: as they are.
std::vector<pi2_fluid_change> changes_of(const AllDescribed &items, std::size_t classes, Numbers &counts)
{
    std::vector<pi2_fluid_change> changes;
    for (nb::handle item : items) {
        const Entries e(item, "change " + std::to_string(changes.size()), {"at", "capacity", "counts"});
        changes.push_back({e.as<double>("at"), e.as<double>("capacity")});
        counts.resize(counts.size() + classes);
        copy(e.as<Numbers>("counts"), counts.data() + counts.size() - classes, static_cast<int>(classes), e.what);
    }
    return changes;
}

class FluidRun : public Trajectory<pi2_fluid, pi2_fluid_advance, pi2_fluid_destroy> {
  public:
    FluidRun(Told<Dict<double>> link, bool continuous, Told<Dict<double>> accuracy, const AqmLaw &aqm,
             const AllDescribed &classes, const AllDescribed &changes,
             const std::optional<std::pair<Numbers, Numbers>> &beginning, const Line<const double> &pushes)
    {
        pi2_fluid_problem p = {};
        const Entries of_link(link, "link", {"duration", "capacity", "buffer", "update_interval"});
        const Entries limits(accuracy, "accuracy", {"step", "tolerance", "most_steps"});
        p.duration = of_link.as<double>("duration");
        p.capacity = of_link.as<double>("capacity");
        p.buffer = of_link.as<double>("buffer");
        p.update_interval = of_link.as<double>("update_interval");
        p.continuous = continuous;
        p.step = limits.as<double>("step");
        p.tolerance = limits.as<double>("tolerance");
        p.most_steps = static_cast<long long>(std::min(limits.as<double>("most_steps"), 9e18));
        borrowed.push_back(nb::find(aqm));
        p.aqm = aqm.law;
        p.parameters = aqm.parameters;
        if (continuous && std::isfinite(p.update_interval) && !p.aqm->flow)
            refuse(std::string(p.aqm->name) + " has no continuous form.");
        std::vector<pi2_fluid_class> all;
        for (nb::handle item : classes)
            all.push_back(class_of(item, "class " + std::to_string(all.size()), p.aqm, borrowed));
        if (all.empty())
            refuse("classes is empty.");
        Numbers counts;
        const std::vector<pi2_fluid_change> schedule = changes_of(changes, all.size(), counts);
        p.class_count = static_cast<int>(all.size());
        p.classes = all.data();
        p.change_count = static_cast<int>(schedule.size());
        p.changes = schedule.data();
        p.counts = counts.data();
        if (beginning) {
            double state[PI2_AQM_STATES];
            p.began = 1;
            copy(beginning->first, p.queues, p.aqm->bands, "the queues");
            copy(beginning->second, p.state, p.aqm->initial(p.parameters, state), "the controller's state");
        }
        p.push_count = pushes.shape(0);
        p.pushes = pushes.data();
        begin(pi2_fluid_create(&p), static_cast<std::size_t>(p.aqm->bands), all.size());
    }

    double time() const { return pi2_fluid_time(run.get()); }
    long long steps() const { return pi2_fluid_steps(run.get()); }
};

} // namespace

void register_fluid(nb::module_ &module)
{
    nb::class_<FluidRun> fluid_run(module, "FluidRun", R"(One trajectory of the fluid model in the making (native/fluid/fluid.h).

Parameters
----------
link
    duration (s), capacity (packets/s), buffer (packets), update_interval (s, inf: none).
continuous
    Whether the controller moves by its flow instead of its updates.
accuracy
    step (s), tolerance (0: all steps of that length), most_steps.
aqm
    A queue law.
classes
    Of each class: law, a window law, and its state; signal ("classic",
    "scalable" or None); thinned, slow_start (bool); count; base_rtt, start, stop, start_jitter
    (s).
changes
    Of each change: at (s), capacity (packets/s) and counts of all classes, NaN: as before.
beginning
    Queues (packets) and state of the controller before time 0; None: empty and unsignalled.
pushes
    What is added to the controller's variable before each update, from the first on.

Raises
------
ValueError
    A name is unknown or missing.
)");
    fluid_run
        .def(nb::init<Told<Dict<double>>, bool, Told<Dict<double>>, const AqmLaw &, const AllDescribed &, const AllDescribed &,
                      const std::optional<std::pair<Numbers, Numbers>> &, const Line<const double> &>(),
             nb::arg("link"), nb::arg("continuous"), nb::arg("accuracy"), nb::arg("aqm"),
             nb::arg("classes"), nb::arg("changes"), nb::arg("beginning").none(), nb::arg("pushes").noconvert());
    define_advance(fluid_run);
}
