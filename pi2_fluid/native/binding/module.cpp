// The compiled module pi2_fluid._core: arrays in, arrays out, no logic. The kernels are C and know no Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "binding/ack_loops.h"
#include "binding/ack_plant.h"
#include "binding/acks.h"
#include "binding/alias_sums.h"
#include "binding/arguments.h"
#include "binding/desk.h"
#include "binding/desk_networks.h"
#include "binding/lanes.h"
#include "binding/laws.h"
#include "binding/linear_loops.h"
#include "binding/matrices.h"
#include "binding/packet.h"
#include "binding/proofs.h"
#include "binding/replay_queues.h"
#include "binding/replay_senders.h"
#include "binding/replay_updates.h"
#include "binding/routes.h"
#include "margins/closed/margins.h"

namespace nb = nanobind;
using namespace binding;

int binding::simd_level(const std::optional<std::string> &name)
{
    if (!name)
        return 0;
    std::string known;
    for (int i = 0; const char *found = pi2_simd_name(i); i++) {
        if (*name == found)
            return i;
        known += (i ? ", " : "") + std::string(found);
    }
    refuse("simd = '" + *name + "' is not an instruction set of this machine; give one of " + known
           + ", or None for the fastest.");
}

namespace {

using Input = Line<const double>;
using Output = Line<double>;

// The array itself, never a converted copy: results written to a copy would be lost.
template <typename Array> Array array_of(nb::handle object, const char *name, std::size_t size = SIZE_MAX)
{
    Array array;
    if (!nb::try_cast<Array>(object, array, false))
        throw nb::type_error((std::string(name) + " must be a contiguous one-dimensional float64 array"
                              + (std::is_same_v<Array, Output> ? " that can be written to" : "")
                              + "; make it one with numpy.ascontiguousarray(x, dtype=float).").c_str());
    if (size != SIZE_MAX && array.shape(0) != size)
        throw nb::value_error((std::string(name) + " has " + std::to_string(array.shape(0)) + " elements where m has "
                               + std::to_string(size) + "; all nine arrays must have the same length.").c_str());
    return array;
}

void refuse_overlap(const double *output, const double *other, std::size_t size, const char *name)
{
    const auto x = reinterpret_cast<std::uintptr_t>(output), y = reinterpret_cast<std::uintptr_t>(other);
    if ((x > y ? x - y : y - x) < size * sizeof(double))
        throw nb::value_error((std::string(name) + " shares memory with another argument;"
                               " give each result an array of its own.").c_str());
}

std::string number(double x)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.8g", x);
    return text;
}

[[noreturn]] void refuse_point(bool scalable, std::size_t i, const pi2_margins_input &p)
{
    const double most = scalable ? PI2_MU_SCALABLE : PI2_MU_RENO;
    throw nb::value_error(("Point " + std::to_string(i) + " (m = " + number(p.m[i]) + ", mu = " + number(p.mu[i])
                           + ", a = " + number(p.a[i]) + ", c = " + number(p.c[i]) + ", rtt = " + number(p.rtt[i])
                           + ") lies outside the domain: m, a, c and rtt must lie in [1e-100, 1e100] and mu must be 0"
                             " or in [1e-100, " + number(most) + "].").c_str());
}

void margins(bool scalable, Told<Input> m, Told<Input> mu, Told<Input> a, Told<Input> c, Told<Input> rtt,
             Told<Output> gm_db, Told<Output> pm_deg, Told<Output> w_gc, Told<Output> w_pc,
             const std::optional<std::string> &simd)
{
    static const char *const names[] = {"m", "mu", "a", "c", "rtt", "gm_db", "pm_deg", "w_gc", "w_pc"};
    const nb::handle objects[] = {m, mu, a, c, rtt, gm_db, pm_deg, w_gc, w_pc};
    const int level = simd_level(simd);
    Input in[5];
    Output out[4];
    const double *data[9];
    for (int j = 0; j < 9; j++) {
        const std::size_t size = j ? in[0].shape(0) : SIZE_MAX;
        if (j < 5)
            data[j] = (in[j] = array_of<Input>(objects[j], names[j], size)).data();
        else
            data[j] = (out[j - 5] = array_of<Output>(objects[j], names[j], size)).data();
    }
    const std::size_t n = in[0].shape(0);
    for (int j = 5; j < 9; j++)
        for (int k = 0; k < j; k++)
            refuse_overlap(data[j], data[k], n, names[j]);

    const pi2_margins_input points = {data[0], data[1], data[2], data[3], data[4]};
    const pi2_margins_output results = {out[0].data(), out[1].data(), out[2].data(), out[3].data()};
    std::size_t done;
    {
        nb::gil_scoped_release release;
        done = pi2_margins(level, scalable, n, points, results);
    }
    if (done != n)
        refuse_point(scalable, done, points);
}

std::string simd()
{
    return pi2_simd_name(0);
}

Many<nb::str> simd_levels()
{
    nb::list names;
    for (int i = 0; const char *name = pi2_simd_name(i); i++)
        names.append(name);
    return nb::tuple(names);
}

} // namespace

NB_MODULE(_core, module)
{
    module.doc() = "The compiled kernels of pi2_fluid. Internal: signatures may change.";
    module.def("margins", &margins, nb::arg("scalable"), nb::arg("m"), nb::arg("mu"), nb::arg("a"), nb::arg("c"),
               nb::arg("rtt"), nb::arg("gm_db"), nb::arg("pm_deg"), nb::arg("w_gc"), nb::arg("w_pc"),
               nb::arg("simd") = nb::none(),
               R"(Gain and phase margins of L(s), written into `gm_db`, `pm_deg`, `w_gc` and `w_pc`.

L(jv) = m (a + j c v) exp(-jv) / (jv (1 + jv) (jv + mu h)) with v = w rtt and h = 1 + exp(-jv),
or exp(-jv) if `scalable`. Frozen round-trip time, continuous PI controller. Releases the GIL.

Parameters
----------
scalable
    False: the Reno family, 0 <= mu <= 0.7072. True: scalable senders, 0 <= mu <= 1/2.
m, mu, a, c
    Gain factor, reciprocal window, alpha rtt^2/T and (beta + alpha/2) rtt, dimensionless.
rtt
    Round-trip time, seconds.
gm_db, pm_deg
    Gain margin (-inf where mu = 0 and c <= 2 a) and unwrapped phase margin, dB and degrees.
w_gc, w_pc
    Gain and phase crossover, rad/s; w_pc is 0 where gm_db is -inf.
simd
    An element of `simd_levels()`; None takes the first.

Raises
------
TypeError
    An argument is not a contiguous one-dimensional float64 array.
ValueError
    Lengths differ, arrays overlap, or a point lies outside the domain: m, a, c, rtt in
    [1e-100, 1e100] and mu zero or at least 1e-100. Results are then incomplete.
)");
    register_laws(module);
    register_ack_loops(module);
    register_ack_plant(module);
    register_acks(module);
    register_alias_sums(module);
    register_proofs(module);
    register_matrices(module);
    register_linear_loops(module);
    register_desk(module);
    register_desk_networks(module);
    register_lanes(module);
    register_packet(module);
    register_replay_updates(module);
    register_replay_queues(module);
    register_replay_senders(module);
    register_routes(module);
    module.def("simd", &simd,
               "The instruction set that the kernels use on this machine: \"avx512\", \"avx2\" or \"baseline\".");
    module.def("simd_levels", &simd_levels,
               "Every instruction set that the kernels can use on this machine, fastest first.");
}
