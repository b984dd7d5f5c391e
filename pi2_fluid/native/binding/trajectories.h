// What trajectories by either clock have in common: they are computed in parts, into arrays of the caller.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/laws.h"
#include "fluid/routes/problem.h"

namespace binding {

using Output = nanobind::ndarray<double, nanobind::c_contig, nanobind::device::cpu>;

inline int signal_of(const Entries &entries)
{
    static_assert(PI2_FLUID_CLASSIC == 0 && PI2_FLUID_SCALABLE == 1 && PI2_FLUID_DEAF == 2, "names are in this order");
    return entries.is_none("signal") ? PI2_FLUID_DEAF : entries.one_of("signal", {"classic", "scalable"});
}

// Where an array of the caller lies, if it has as many elements.
inline double *data_of(const Output &array, std::size_t size)
{
    if (array.size() != size)
        refuse("an array has " + std::to_string(array.size()) + " elements instead of " + std::to_string(size) + ".");
    return array.data();
}

// What a class of flows is described by.
inline const std::vector<std::string> class_names = {"law", "state", "signal", "thinned", "slow_start",
                                                     "count", "base_rtt", "start", "stop", "start_jitter"};

inline pi2_fluid_class read_class(const Entries &e, Kept &kept)
{
    pi2_fluid_class c = {};
    const SenderLaw &sender = law_of<SenderLaw>(e, "law", kept);
    c.law = sender.law;
    c.parameters = sender.parameters;
    c.signal = signal_of(e);
    c.thinned = e.as<bool>("thinned");
    c.slow_start = e.as<bool>("slow_start");
    copy(e.as<Numbers>("state"), c.x, c.law->states, std::string(c.law->name) + "'s state");
    c.count = e.as<double>("count");
    c.base_rtt = e.as<double>("base_rtt");
    c.start = e.as<double>("start");
    c.stop = e.as<double>("stop");
    c.start_jitter = e.as<double>("start_jitter");
    return c;
}

inline void require_thinning(const pi2_fluid_class &c, const pi2_aqm_law *aqm)
{
    if (c.thinned && (!aqm->encode || c.signal == PI2_FLUID_SCALABLE))
        refuse(std::string(c.law->name) + " cannot be thinned by " + aqm->name + ".");
}

// Why a trajectory stopped, by its number.
inline const char *status_name(int status)
{
    static const char *const names[] = {"done", "more", "stuck", "lost image", "not finite", "too old", "no memory"};
    return names[status];
}

template <typename Kernel>
using Advance = int (*)(Kernel *, const double *, size_t, size_t *, pi2_routes_rows, long long);

// One in the making, of the kernel's functions that go on with it and that end it.
template <typename Kernel, Advance<Kernel> go_on, void (*destroy)(Kernel *)> class Trajectory {
  public:
    std::pair<std::size_t, const char *> advance(const Line<const double> &samples, std::size_t place,
                                                 long long most_steps, const Output &queue, const Output &queue_delay,
                                                 const Output &controller, const Output &capacity, const Output &window,
                                                 const Output &p, const Output &leaving)
    {
        const std::size_t n = samples.shape(0);
        const pi2_routes_rows rows = {data_of(queue, n * queues),      data_of(queue_delay, n * queues),
                                      data_of(controller, n * places), data_of(capacity, n * places),
                                      data_of(window, n * members),    data_of(p, n * visits),
                                      data_of(leaving, n * visits)};
        int status;
        if (busy)
            throw std::runtime_error("this trajectory is being computed by another thread.");
        busy = true;
        {
            nanobind::gil_scoped_release release;
            status = go_on(run.get(), samples.data(), n, &place, rows, most_steps);
        }
        busy = false;
        return {place, status_name(status)};
    }

  protected:
    void begin(Kernel *made)
    {
        run.reset(made);
        if (!run)
            throw std::bad_alloc();
    }

    struct Destroy {
        void operator()(Kernel *r) const { destroy(r); }
    };
    Kept borrowed; /* outlives the run, which reads from it */
    std::unique_ptr<Kernel, Destroy> run;
    std::size_t places = 0, queues = 0, members = 0, visits = 0;

  private:
    bool busy = false;
};

// What both have in Python.
template <typename Run> nanobind::class_<Run> &define_advance(nanobind::class_<Run> &its)
{
    namespace nb = nanobind;
    its.def(
        "advance",
        [](Run &run, const Line<const double> &samples, std::size_t place, long long most_steps, const Output &queue,
           const Output &queue_delay, const Output &controller, const Output &capacity, const Output &window,
           const Output &p, const Output &leaving) {
            return run.advance(samples, place, most_steps, queue, queue_delay, controller, capacity, window, p, leaving);
        },
        nb::arg("samples").noconvert(), nb::arg("place"), nb::arg("most_steps"), nb::arg("queue").noconvert(),
        nb::arg("queue_delay").noconvert(), nb::arg("controller").noconvert(), nb::arg("capacity").noconvert(),
        nb::arg("window").noconvert(), nb::arg("p").noconvert(), nb::arg("leaving").noconvert(),
        R"(Fill the rows of the times `samples` (s, rising) from `place` on; releases the GIL.

Rows have an element per band of each node, node by node (queue, queue_delay), node (controller,
capacity), class (window), or class and node of its route, class by class (p, leaving). Returns
the first row that is not filled, and why: "done", "more" (after `most_steps` steps: call again),
or an error after which the run is over: "stuck", "lost image", "not finite", "too old",
"no memory".
)");
    its.def_prop_ro("time", &Run::time, "How far it is (s).");
    its.def_prop_ro("steps", &Run::steps, "Steps taken.");
    return its;
}

} // namespace binding
