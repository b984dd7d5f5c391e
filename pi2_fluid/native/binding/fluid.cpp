// Part of pi2_fluid._core: one trajectory of the fluid, and the laws it is made of, one by one for tests.
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
#include "binding/trajectories.h"
#include "fluid/fluid.h"

namespace nb = nanobind;
using namespace binding;

namespace {

// Laws, for tests

class SenderLaw {
  public:
    SenderLaw(const std::string &name, const Parameters &parameters)
        : law(named(pi2_find_sender(name.c_str()), name, "window law"))
    {
        read_parameters(law, parameters, data);
    }

    Numbers initial(double window) const
    {
        Numbers x(law->states);
        law->initial(data, window, x.data());
        return x;
    }

    Numbers rate(Numbers x, double window_delayed, double signal_delayed, double rtt, double rtt_delayed) const
    {
        Numbers slope(law->states);
        x.resize(law->states);
        law->rate(data, x.data(), window_delayed, signal_delayed, rtt, rtt_delayed, slope.data());
        return slope;
    }

    // The change of every state, and the cut apart from it.
    std::pair<Numbers, double> acked(Numbers x, double acks, double marks, double rtt) const
    {
        Numbers change(law->states);
        x.resize(law->states);
        if (!law->acked)
            refuse(std::string(law->name) + " has no form by the clock of acknowledgements.");
        const double cut = law->acked(data, x.data(), acks, marks, rtt, change.data());
        return {change, cut};
    }

    double sending_rate(Numbers x, double rtt) const
    {
        x.resize(law->states);
        return law->sending_rate(data, x.data(), rtt);
    }

    double sending_rate_under(Numbers x, double signal_delayed, double rtt) const
    {
        x.resize(law->states);
        return law->sending_rate_under ? law->sending_rate_under(data, x.data(), signal_delayed, rtt)
                                       : law->sending_rate(data, x.data(), rtt);
    }

    Numbers leave_slow_start(Numbers x) const
    {
        x.resize(law->states);
        law->leave_slow_start(data, x.data());
        return x;
    }

    Numbers switches(Numbers x, double signal, double rtt) const
    {
        Numbers values(law->switches);
        x.resize(law->states);
        if (law->switch_values)
            law->switch_values(data, x.data(), signal, rtt, values.data());
        return values;
    }

  private:
    const pi2_sender_law *law;
    double data[PI2_SENDER_PARAMETERS] = {};
};

// What a queue sees, by the names of the struct in native/laws/aqm.h.
using Seen = Told<std::map<std::string, std::variant<double, std::pair<double, double>>>>;

class AqmLaw {
  public:
    AqmLaw(const std::string &name, const Parameters &parameters)
        : law(named(pi2_find_aqm(name.c_str()), name, "queue law"))
    {
        read_aqm(law, parameters, data);
        states = law->initial(data, start);
    }

    Numbers initial() const { return Numbers(start, start + states); }

    Numbers update(const Numbers &state, const Seen &seen, double dt) const
    {
        return moved(state, [&](const double *x, double *after) {
            const pi2_seen s = see(seen);
            law->update(data, x, &s, dt, after);
        });
    }

    Numbers flow(const Numbers &state, const Seen &seen, double d_queue_delay) const
    {
        return moved(state, [&](const double *x, double *slope) {
            const pi2_seen s = see(seen);
            if (!law->flow)
                refuse(std::string(law->name) + " has no continuous form.");
            law->flow(data, x, &s, d_queue_delay, slope);
        });
    }

    Numbers drift(const Numbers &state, const Seen &seen) const
    {
        return moved(state, [&](const double *x, double *slope) {
            const pi2_seen s = see(seen);
            if (law->drift)
                law->drift(data, x, &s, slope);
        });
    }

    Numbers saturate(const Numbers &state) const
    {
        return moved(state, [&](const double *x, double *after) {
            std::copy(x, x + states, after);
            law->saturate(data, after);
        });
    }

    double controller(const Numbers &state) const
    {
        return law->controller(data, full(state).data());
    }

    std::pair<double, double> encode(double u) const
    {
        if (!law->encode)
            refuse(std::string(law->name) + " has no controller.");
        const pi2_signal signal = law->encode(data, u);
        return {signal.classic, signal.scalable};
    }

    std::pair<double, double> signals(const Numbers &state, const Seen &seen) const
    {
        const pi2_seen s = see(seen);
        const pi2_signal signal = law->signals(data, full(state).data(), &s);
        return {signal.classic, signal.scalable};
    }

    Numbers switches(const Numbers &state, const Seen &seen) const
    {
        Numbers values(PI2_AQM_SWITCHES);
        const pi2_seen s = see(seen);
        values.resize(law->switch_values ? law->switch_values(data, full(state).data(), &s, values.data()) : 0);
        return values;
    }

    std::pair<double, double> serve(std::pair<bool, bool> backlogged, std::pair<double, double> arrivals,
                                    double capacity) const
    {
        const int waits[2] = {backlogged.first, backlogged.second};
        const double rates[2] = {arrivals.first, arrivals.second};
        double served[2];
        if (!law->serve)
            refuse(std::string(law->name) + " has one queue.");
        law->serve(data, waits, rates, capacity, served);
        return {served[0], served[1]};
    }

  private:
    static pi2_seen see(const Seen &seen)
    {
        const Entries e(seen, "seen", {"queue_delay", "queue", "arrival_rate", "capacity", "overflow"});
        const auto [classic, l4s] = e.as<std::pair<double, double>>("queue_delay");
        return {{classic, l4s}, e.as<double>("queue"), e.as<double>("arrival_rate"), e.as<double>("capacity"),
                e.as<double>("overflow")};
    }

    Numbers full(const Numbers &state) const
    {
        Numbers x(PI2_AQM_STATES);
        copy(state, x.data(), states, law->name);
        return x;
    }

    template <typename F> Numbers moved(const Numbers &state, F move) const
    {
        Numbers to(PI2_AQM_STATES);
        move(full(state).data(), to.data());
        to.resize(states);
        return to;
    }

    const pi2_aqm_law *law;
    double data[PI2_AQM_PARAMETERS] = {}, start[PI2_AQM_STATES] = {};
    int states;
};

// Trajectories

pi2_fluid_class class_of(nb::handle item, const std::string &what, const pi2_aqm_law *aqm)
{
    const pi2_fluid_class c = read_class(Entries(item, what, class_names));
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
    FluidRun(Told<Dict<double>> link, bool continuous, Told<Dict<double>> accuracy, const std::string &aqm,
             const Parameters &parameters, const AllDescribed &classes, const AllDescribed &changes,
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
        p.aqm = named(pi2_find_aqm(aqm.c_str()), aqm, "queue law");
        read_aqm(p.aqm, parameters, p.parameters);
        if (continuous && std::isfinite(p.update_interval) && !p.aqm->flow)
            refuse(aqm + " has no continuous form.");
        std::vector<pi2_fluid_class> all;
        for (nb::handle item : classes)
            all.push_back(class_of(item, "class " + std::to_string(all.size()), p.aqm));
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
aqm, parameters
    A queue law of the kernel, and what configures it.
classes
    Of each class: law, a window law, with its parameters and its state; signal ("classic",
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
        .def(nb::init<Told<Dict<double>>, bool, Told<Dict<double>>, const std::string &, const Parameters &, const AllDescribed &,
                      const AllDescribed &, const std::optional<std::pair<Numbers, Numbers>> &, const Line<const double> &>(),
             nb::arg("link"), nb::arg("continuous"), nb::arg("accuracy"), nb::arg("aqm"), nb::arg("parameters"),
             nb::arg("classes"), nb::arg("changes"), nb::arg("beginning").none(), nb::arg("pushes").noconvert());
    define_advance(fluid_run);
    nb::class_<SenderLaw>(module, "SenderLaw", "A window law of the kernel, for tests: native/laws/sender.h.")
        .def(nb::init<const std::string &, const Parameters &>(), nb::arg("name"), nb::arg("parameters"))
        .def("initial", &SenderLaw::initial, nb::arg("window"))
        .def("rate", &SenderLaw::rate, nb::arg("x"), nb::arg("window_delayed"), nb::arg("signal_delayed"), nb::arg("rtt"),
             nb::arg("rtt_delayed"))
        .def("acked", &SenderLaw::acked, nb::arg("x"), nb::arg("acks"), nb::arg("marks"), nb::arg("rtt"))
        .def("sending_rate", &SenderLaw::sending_rate, nb::arg("x"), nb::arg("rtt"))
        .def("sending_rate_under", &SenderLaw::sending_rate_under, nb::arg("x"), nb::arg("signal_delayed"), nb::arg("rtt"))
        .def("leave_slow_start", &SenderLaw::leave_slow_start, nb::arg("x"))
        .def("switches", &SenderLaw::switches, nb::arg("x"), nb::arg("signal"), nb::arg("rtt"));
    nb::class_<AqmLaw>(module, "AqmLaw", R"(A queue law of the kernel, for tests: native/laws/aqm.h.

`seen` has queue_delay (s, of both bands), queue (packets), arrival_rate, capacity and overflow
(packets/s).
)")
        .def(nb::init<const std::string &, const Parameters &>(), nb::arg("name"), nb::arg("parameters"))
        .def("initial", &AqmLaw::initial)
        .def("update", &AqmLaw::update, nb::arg("state"), nb::arg("seen"), nb::arg("dt"))
        .def("flow", &AqmLaw::flow, nb::arg("state"), nb::arg("seen"), nb::arg("d_queue_delay"))
        .def("drift", &AqmLaw::drift, nb::arg("state"), nb::arg("seen"))
        .def("saturate", &AqmLaw::saturate, nb::arg("state"))
        .def("controller", &AqmLaw::controller, nb::arg("state"))
        .def("encode", &AqmLaw::encode, nb::arg("u"))
        .def("signals", &AqmLaw::signals, nb::arg("state"), nb::arg("seen"))
        .def("switches", &AqmLaw::switches, nb::arg("state"), nb::arg("seen"))
        .def("serve", &AqmLaw::serve, nb::arg("backlogged"), nb::arg("arrivals"), nb::arg("capacity"));
}
