// Part of pi2_fluid._core: one trajectory of the fluid, and the laws it is made of, one by one for tests.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "binding_arguments.h"
#include "binding_fluid.h"
#include "kernel/fluid.h"

namespace nb = nanobind;
using namespace binding;

namespace {

using Output = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

void read_aqm(const pi2_aqm_law *law, const Parameters &from, double (&to)[PI2_AQM_PARAMETERS])
{
    read_parameters(law, from, to);
    require_sound(!law->sound || law->sound(to), law->name);
}

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

    double sending_rate(Numbers x, double rtt) const
    {
        x.resize(law->states);
        return law->sending_rate(data, x.data(), rtt);
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

class AqmLaw {
  public:
    AqmLaw(const std::string &name, const Parameters &parameters)
        : law(named(pi2_find_aqm(name.c_str()), name, "queue law"))
    {
        read_aqm(law, parameters, data);
        states = law->initial(data, start);
    }

    Numbers initial() const { return Numbers(start, start + states); }

    Numbers update(const Numbers &state, const Numbers &seen, double dt) const
    {
        return moved(state, [&](const double *x, double *after) {
            const pi2_seen s = see(seen);
            law->update(data, x, &s, dt, after);
        });
    }

    Numbers flow(const Numbers &state, const Numbers &seen, double d_queue_delay) const
    {
        return moved(state, [&](const double *x, double *slope) {
            const pi2_seen s = see(seen);
            if (!law->flow)
                refuse(std::string(law->name) + " has no continuous form.");
            law->flow(data, x, &s, d_queue_delay, slope);
        });
    }

    Numbers drift(const Numbers &state, const Numbers &seen) const
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

    std::pair<double, double> signals(const Numbers &state, const Numbers &seen) const
    {
        const pi2_seen s = see(seen);
        const pi2_signal signal = law->signals(data, full(state).data(), &s);
        return {signal.classic, signal.scalable};
    }

    Numbers switches(const Numbers &state, const Numbers &seen) const
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
    // queue_delay of both bands, queue, arrival_rate, capacity, overflow
    static pi2_seen see(const Numbers &n)
    {
        double v[6];
        copy(n, v, 6, "seen");
        return {{v[0], v[1]}, v[2], v[3], v[4], v[5]};
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

int signal_of(const Entries &entries)
{
    static_assert(PI2_FLUID_CLASSIC == 0 && PI2_FLUID_SCALABLE == 1 && PI2_FLUID_DEAF == 2, "names are in this order");
    return entries.is_none("signal") ? PI2_FLUID_DEAF : entries.one_of("signal", {"classic", "scalable"});
}

pi2_fluid_class class_of(nb::handle item, const std::string &what, const pi2_aqm_law *aqm)
{
    const Entries e(item, what,
                    {"law", "parameters", "state", "signal", "thinned", "slow_start", "count", "base_rtt", "start",
                     "stop", "start_jitter"});
    pi2_fluid_class c = {};
    const auto name = e.as<std::string>("law");
    c.law = named(pi2_find_sender(name.c_str()), name, "window law");
    c.signal = signal_of(e);
    c.thinned = e.as<bool>("thinned");
    if (c.thinned && (!aqm->encode || c.signal == PI2_FLUID_SCALABLE))
        refuse(name + " cannot be thinned by " + aqm->name + ".");
    c.slow_start = e.as<bool>("slow_start");
    read_parameters(c.law, e.as<Parameters>("parameters"), c.parameters);
    copy(e.as<Numbers>("state"), c.x, c.law->states, name + "'s state");
    c.count = e.as<double>("count");
    c.base_rtt = e.as<double>("base_rtt");
    c.start = e.as<double>("start");
    c.stop = e.as<double>("stop");
    c.start_jitter = e.as<double>("start_jitter");
    return c;
}

// Of each change: when (s), capacity (packets/s), flows of each class; NaN: as they are.
std::vector<pi2_fluid_change> changes_of(const nb::list &items, std::size_t classes, Numbers &counts)
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

class FluidRun {
  public:
    FluidRun(nb::handle link, bool continuous, nb::handle accuracy, const std::string &aqm,
             const Parameters &parameters, const nb::list &classes, const nb::list &changes,
             const std::optional<std::pair<Numbers, Numbers>> &beginning)
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
        run.reset(pi2_fluid_create(&p));
        if (!run)
            throw std::bad_alloc();
        bands = static_cast<std::size_t>(p.aqm->bands);
        members = all.size();
    }

    nb::tuple advance(const Line<const double> &samples, std::size_t place, long long most_steps, const Output &queue,
                      const Output &queue_delay, const Output &controller, const Output &p, const Output &window,
                      const Output &leaving, const Output &capacity)
    {
        static const char *const names[] = {"done", "more", "stuck", "lost image", "not finite", "too old",
                                            "no memory"};
        const std::size_t n = samples.shape(0);
        const pi2_fluid_rows rows = {data(queue, n * bands),   data(queue_delay, n * bands), data(controller, n),
                                     data(capacity, n),        data(p, n * members),         data(window, n * members),
                                     data(leaving, n * members)};
        int status;
        if (busy)
            throw std::runtime_error("this trajectory is being computed by another thread.");
        busy = true;
        {
            nb::gil_scoped_release release;
            status = pi2_fluid_advance(run.get(), samples.data(), n, &place, rows, most_steps);
        }
        busy = false;
        return nb::make_tuple(place, names[status]);
    }

    double time() const { return pi2_fluid_time(run.get()); }
    long long steps() const { return pi2_fluid_steps(run.get()); }

  private:
    static double *data(const Output &array, std::size_t size)
    {
        if (array.size() != size)
            refuse("an array has " + std::to_string(array.size()) + " elements instead of "
                   + std::to_string(size) + ".");
        return array.data();
    }

    struct Destroy {
        void operator()(pi2_fluid *r) const { pi2_fluid_destroy(r); }
    };
    std::unique_ptr<pi2_fluid, Destroy> run;
    std::size_t bands = 1, members = 1;
    bool busy = false;
};

} // namespace

void register_fluid(nb::module_ &module)
{
    nb::class_<FluidRun>(module, "FluidRun", "One trajectory of the fluid model in the making.")
        .def(nb::init<nb::handle, bool, nb::handle, const std::string &, const Parameters &, const nb::list &,
                      const nb::list &, const std::optional<std::pair<Numbers, Numbers>> &>(),
             nb::arg("link"), nb::arg("continuous"), nb::arg("accuracy"), nb::arg("aqm"), nb::arg("parameters"),
             nb::arg("classes"), nb::arg("changes"), nb::arg("beginning").none())
        .def("advance", &FluidRun::advance, nb::arg("samples").noconvert(), nb::arg("place"), nb::arg("most_steps"),
             nb::arg("queue").noconvert(), nb::arg("queue_delay").noconvert(), nb::arg("controller").noconvert(),
             nb::arg("p").noconvert(), nb::arg("window").noconvert(), nb::arg("leaving").noconvert(),
             nb::arg("capacity").noconvert(), "Fill rows from `place` on; return how far it came, and why it stopped.")
        .def_prop_ro("time", &FluidRun::time, "How far it is (s).")
        .def_prop_ro("steps", &FluidRun::steps, "Steps taken.");
    nb::class_<SenderLaw>(module, "SenderLaw", "A window law of the kernel, for tests.")
        .def(nb::init<const std::string &, const Parameters &>(), nb::arg("name"), nb::arg("parameters"))
        .def("initial", &SenderLaw::initial)
        .def("rate", &SenderLaw::rate)
        .def("sending_rate", &SenderLaw::sending_rate)
        .def("leave_slow_start", &SenderLaw::leave_slow_start)
        .def("switches", &SenderLaw::switches);
    nb::class_<AqmLaw>(module, "AqmLaw", "A queue law of the kernel, for tests.")
        .def(nb::init<const std::string &, const Parameters &>(), nb::arg("name"), nb::arg("parameters"))
        .def("initial", &AqmLaw::initial)
        .def("update", &AqmLaw::update)
        .def("flow", &AqmLaw::flow)
        .def("drift", &AqmLaw::drift)
        .def("saturate", &AqmLaw::saturate)
        .def("controller", &AqmLaw::controller)
        .def("encode", &AqmLaw::encode)
        .def("signals", &AqmLaw::signals)
        .def("switches", &AqmLaw::switches)
        .def("serve", &AqmLaw::serve);
}
