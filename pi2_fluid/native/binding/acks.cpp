// Part of pi2_fluid._core: one trajectory of the fluid by the clock of acknowledgements.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
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

pi2_acks_class class_of(nb::handle item, const std::string &what, const pi2_aqm_law *aqm, Kept &borrowed)
{
    const Entries e(item, what,
                    {"law", "state", "steady", "signal", "band", "thinned", "slow_start", "spreads",
                     "copied", "count", "base_rtt", "round_trip", "start", "stop", "start_jitter", "before",
                     "cutting"});
    pi2_acks_class c = {};
    const SenderLaw &sender = law_of<SenderLaw>(e, "law", borrowed);
    const std::string name = sender.law->name;
    c.law = sender.law;
    c.parameters = sender.parameters;
    c.steady = e.as<bool>("steady");
    if (!c.steady && !c.law->acked)
        refuse(name + " has no form by the clock of acknowledgements.");
    c.signal = signal_of(e);
    c.band = static_cast<int>(e.whole("band", 0, aqm->bands - 1));
    c.thinned = e.as<bool>("thinned");
    if (c.thinned && !aqm->encode)
        refuse(name + " cannot be thinned by " + aqm->name + ".");
    c.slow_start = e.as<bool>("slow_start");
    c.spreads = e.as<bool>("spreads");
    c.copied = static_cast<int>(e.whole("copied", -1, 1 << 30));
    copy(e.as<Numbers>("state"), c.x, c.law->states, name + "'s state");
    c.count = e.as<double>("count");
    c.base_rtt = e.as<double>("base_rtt");
    c.round_trip = e.as<double>("round_trip");
    c.start = e.as<double>("start");
    c.stop = e.as<double>("stop");
    c.start_jitter = e.as<double>("start_jitter");
    c.before = e.as<double>("before");
    c.cutting = e.as<double>("cutting");
    return c;
}

std::vector<pi2_acks_class> classes_of(const AllDescribed &items, const pi2_aqm_law *aqm, Kept &borrowed)
{
    std::vector<pi2_acks_class> all;
    for (nb::handle item : items)
        all.push_back(class_of(item, "class " + std::to_string(all.size()), aqm, borrowed));
    require(!all.empty(), "classes is empty.");
    for (const pi2_acks_class &c : all)
        if (c.copied >= 0 && (static_cast<std::size_t>(c.copied) >= all.size() || c.steady || all[c.copied].steady))
            refuse("no class has the number that copied = " + std::to_string(c.copied) + " says, and a window.");
    return all;
}

std::vector<pi2_fluid_change> changes_of(const std::vector<std::pair<double, double>> &items)
{
    std::vector<pi2_fluid_change> changes;
    for (const auto &[at, capacity] : items) {
        require(capacity > 0.0, "the capacity of a change is not above 0.");
        changes.push_back({at, capacity});
    }
    return changes;
}

class AcksRun : public Trajectory<pi2_acks, pi2_acks_advance, pi2_acks_destroy> {
  public:
    AcksRun(Told<Dict<double>> link, Told<Dict<double>> accuracy, const AqmLaw &aqm, Told<Dict<nb::any>> queue, const AllDescribed &classes,
            const std::vector<std::pair<double, double>> &changes, const Line<const double> &pushes)
    {
        pi2_acks_problem p = {};
        const Entries of_link(link, "link", {"duration", "capacity", "buffer", "update_interval"});
        const Entries limits(accuracy, "accuracy", {"step", "most_steps", "most_bytes"});
        const Entries of_queue(queue, "queue", {"state", "at_dequeue", "head", "past", "waited"});
        double state[PI2_AQM_STATES];
        p.duration = of_link.as<double>("duration");
        p.capacity = of_link.as<double>("capacity");
        p.buffer = of_link.as<double>("buffer");
        p.update_interval = of_link.as<double>("update_interval");
        p.step = limits.as<double>("step");
        p.most_steps = static_cast<long long>(std::min(limits.as<double>("most_steps"), 9e18));
        p.most_bytes = limits.as<double>("most_bytes");
        borrowed.push_back(nb::find(aqm));
        p.aqm = aqm.law;
        p.parameters = aqm.parameters;
        require_clocked(p.aqm, p.update_interval);
        copy(of_queue.as<Numbers>("state"), p.state, p.aqm->initial(p.parameters, state), "the controller's state");
        p.at_dequeue = of_queue.as<bool>("at_dequeue");
        p.head = of_queue.as<bool>("head");
        p.past = of_queue.as<double>("past");
        p.waited = of_queue.as<double>("waited");
        const std::vector<pi2_acks_class> all = classes_of(classes, p.aqm, borrowed);
        const std::vector<pi2_fluid_change> schedule = changes_of(changes);
        for (const pi2_acks_class &c : all)
            if (!(p.step > 0.0) || (!c.steady && !(p.step < c.base_rtt)))
                refuse("step = " + std::to_string(p.step) + " s is not above 0 and below the shortest path.");
        for (const pi2_acks_class &c : all)
            require(c.count > 0.0 && (!c.spreads || c.round_trip > 0.0), "a class has no flows, or no round trip.");
        require(p.capacity > 0.0, "capacity is not above 0.");
        require(p.past > 0.0, "past is not above 0.");
        p.class_count = static_cast<int>(all.size());
        p.classes = all.data();
        p.change_count = static_cast<int>(schedule.size());
        p.changes = schedule.data();
        p.push_count = pushes.shape(0);
        p.pushes = pushes.data();
        begin(pi2_acks_create(&p), static_cast<std::size_t>(p.aqm->bands), all.size());
    }

    double time() const { return pi2_acks_time(run.get()); }
    long long steps() const { return pi2_acks_steps(run.get()); }
    std::size_t kept() const { return pi2_acks_kept(run.get()); }

    std::map<std::string, Numbers> counts() const
    {
        Numbers sent(members), left(members), acked(members), arrived(bands), lost(bands);
        pi2_acks_count(run.get(), {sent.data(), left.data(), acked.data(), arrived.data(), lost.data()});
        return {{"sent", sent}, {"left", left}, {"acked", acked}, {"arrived", arrived}, {"lost", lost}};
    }
};

} // namespace

void register_acks(nb::module_ &module)
{
    nb::class_<AcksRun> acks_run(module, "AcksRun",
                                 R"(One trajectory by the clock of acknowledgements in the making (native/fluid/acks/acks.h).

Parameters
----------
link
    duration (s), capacity (packets/s), buffer (packets), update_interval (s).
accuracy
    step (s), most_steps, most_bytes that the past may take.
aqm
    A queue law, which holds what it signals.
queue
    The controller's state before time 0; at_dequeue, whether packets are signalled as they leave;
    head, whether the controller measures how long what leaves has waited; past, how far the time
    before 0 reaches back (s), and waited, how long Classic packets waited in it (s).
classes
    Of each class: law, a window law, and its state; steady, whether it sends
    at a constant rate; signal ("classic", "scalable" or None); band; thinned, slow_start; spreads,
    whether a cut is obeyed over round_trip (s); copied, the class with whose window it begins, -1:
    its own; count; base_rtt, start, stop, start_jitter (s); in the time before 0, before, what all
    have sent (packets/s), and cutting, what a flow was cut by (segments/s).
changes
    Of each change of the capacity: at (s), packets/s.
pushes
    What is added to the controller's variable before each update, from the first on.

Raises
------
ValueError
    A name is unknown or missing, or a law has no form by this clock.
)");
    acks_run.def(nb::init<Told<Dict<double>>, Told<Dict<double>>, const AqmLaw &, Told<Dict<nb::any>>, const AllDescribed &, const std::vector<std::pair<double, double>> &,
                          const Line<const double> &>(),
                 nb::arg("link"), nb::arg("accuracy"), nb::arg("aqm"), nb::arg("queue"),
                 nb::arg("classes"), nb::arg("changes"), nb::arg("pushes").noconvert());
    define_advance(acks_run)
        .def("counts", &AcksRun::counts,
             "Packets sent, left and acked of each class until now, arrived and lost of each line.")
        .def_prop_ro("kept", &AcksRun::kept, "How many instants of the past are kept.");
}
