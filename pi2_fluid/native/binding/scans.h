// What bindings of sums over aliases have in common: margins of many loops that update every T seconds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "margins/search/scan.h"

namespace binding {

constexpr std::size_t OF_A_SCAN = 3, OF_A_LOOP = 6;
using Scanned = nanobind::ndarray<nanobind::numpy, double, nanobind::ndim<2>>;

// L = scale (alpha + beta (1 - e^{-jwT})) times the sum over aliases, which `sum` writes.
template <typename Sum> struct HeldLoops {
    const pi2_scan_design &design;
    const std::vector<double> &scale;
    const Sum &sum;

    static int at(const void *data, std::size_t loop, std::size_t n, const double *w, double *values)
    {
        const auto &own = *static_cast<const HeldLoops *>(data);
        if (!own.sum(loop, n, w, values))
            return 0;
        for (std::size_t i = 0; i < n; i++) {
            const double turn = w[i] * own.design.interval, half = std::sin(0.5 * turn);
            const double re = own.scale[loop] * (own.design.alpha + 2.0 * own.design.beta * half * half);
            const double im = own.scale[loop] * own.design.beta * std::sin(turn), x = values[2 * i], y = values[2 * i + 1];
            values[2 * i] = re * x - im * y;
            values[2 * i + 1] = re * y + im * x;
        }
        return 1;
    }
};

// Margins of loops whose rows are R, m, 1/window, signals per round trip, 1 for Scalable, and the scale.
template <typename Sum>
Scanned scan_loops(const Dict<double> &given, bool numeric, const Rows<const double> &rows, std::size_t loops, const Sum &sum)
{
    const Entries entries(given, "a scan", {"alpha", "beta", "interval", "mu_reno", "mu_scalable", "limit"});
    const auto number = [&](const char *name) { return entries.as<double>(name); };
    const pi2_scan_design design = {number("alpha"),       number("beta"),  number("interval"), number("mu_reno"),
                                    number("mu_scalable"), number("limit"), numeric};
    require(design.interval > 0.0, "interval must be positive.");
    require(rows.shape(0) == OF_A_LOOP && rows.shape(1) == loops, "loops must have six rows, and a column for each.");
    std::vector<pi2_scan_loop> twins(loops);
    std::vector<double> scale(loops), found(OF_A_SCAN * loops);
    for (std::size_t i = 0; i < loops; i++) {
        twins[i] = {rows(0, i), rows(1, i), rows(2, i), rows(3, i), rows(4, i) > 0.0};
        scale[i] = rows(5, i);
    }
    bool done;
    {
        nanobind::gil_scoped_release release;
        const HeldLoops<Sum> held = {design, scale, sum};
        double *const first = found.data();
        done = pi2_scan(&design, loops, twins.data(), &HeldLoops<Sum>::at, &held, first, first + loops, first + 2 * loops);
    }
    if (!done)
        throw std::bad_alloc();
    return nanobind::cast<Scanned>(as_array(std::move(found), {OF_A_SCAN, loops}));
}

} // namespace binding
