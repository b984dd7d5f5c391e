// Sums over the aliases of a frequency: what updates at intervals see of a loop.
#include "binding/alias_sums.h"

#include <algorithm>
#include <complex>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/linear_class.h"
#include "binding/scans.h"
#include "margins/aliases/alias_sums.h"
#include "margins/aliases/linear_sums.h"

namespace nb = nanobind;
using namespace binding;

namespace {

constexpr std::int64_t MOST_ALIASES = 1 << 20;

pi2_linear_class class_of(nb::handle object)
{
    const Entries given(object, "a class of flows", names_of_classes());
    const auto number = [&](const char *name) { return given.as<double>(name); };
    const auto own = given.as<Numbers>("own");
    pi2_linear_class cls = {};
    cls.states = states_of(own.size());
    const int terms = static_cast<int>(own.size());
    copy(own, cls.own, terms, "own");
    copy(given.as<Numbers>("signal"), cls.signal, terms, "signal");
    copy(given.as<Numbers>("delay"), cls.delay, terms, "delay");
    cls.r = number("r");
    cls.weight = number("weight");
    cls.rtt = number("rtt");
    cls.lead = number("lead");
    cls.rates = number("rates");
    cls.heard = number("heard");
    cls.shown = number("shown");
    cls.felt = number("felt");
    return cls;
}

pi2_echo echo_of(nb::handle object)
{
    const Entries given(object, "an echo", {"delay", "order2", "order3", "order4"});
    return {given.as<double>("delay"),
            {given.as<double>("order2"), given.as<double>("order3"), given.as<double>("order4")}};
}

template <std::size_t Dimensions>
using Sums = nb::ndarray<nb::numpy, std::complex<double>, nb::ndim<Dimensions>>;
using ByName = nb::typed<nb::list, Dict<double>>;

class AliasSums {
  public:
    AliasSums(AllDescribed classes, ByName echoes, double interval, std::int64_t count)
    {
        require(interval > 0.0, "interval must be positive.");
        require(count >= 0 && count <= MOST_ALIASES, "count is outside [0, 2^20].");
        std::vector<pi2_linear_class> cls;
        std::vector<pi2_echo> echo;
        for (nb::handle object : classes)
            cls.push_back(class_of(object));
        for (nb::handle object : echoes)
            echo.push_back(echo_of(object));
        sums.reset(pi2_linear_sums_make(0, cls.size(), cls.data(), echo.size(), echo.data(), interval,
                                        static_cast<std::size_t>(count)));
        if (!sums)
            throw std::bad_alloc();
    }

    Sums<1> at(Line<const std::complex<double>> s) const
    {
        const std::size_t n = s.shape(0);
        std::vector<std::complex<double>> values(n);
        bool done;
        {
            nb::gil_scoped_release release;
            done = pi2_linear_sums_at(sums.get(), n, reinterpret_cast<const double *>(s.data()),
                                      reinterpret_cast<double *>(values.data()));
        }
        if (!done)
            throw std::bad_alloc();
        return nb::cast<Sums<1>>(as_array(std::move(values), {n}));
    }

  private:
    struct Free {
        void operator()(pi2_linear_sums *sums) const { pi2_linear_sums_free(sums); }
    };
    std::unique_ptr<pi2_linear_sums, Free> sums;
};

using Column = Line<const double>;

std::vector<pi2_design_loop> points_of(Rows<const double> given)
{
    require(given.shape(0) == 6, "points must have six rows.");
    std::vector<pi2_design_loop> points(given.shape(1));
    for (std::size_t j = 0; j < points.size(); j++)
        points[j] = {given(0, j), given(1, j), given(2, j), given(3, j), given(4, j), given(5, j)};
    return points;
}

Scanned scan_designs(const Dict<double> &design, Rows<const double> loops, Rows<const double> given, std::int64_t count)
{
    require(count >= 0 && count <= MOST_ALIASES, "count is outside [0, 2^20].");
    const std::vector<pi2_design_loop> points = points_of(given);
    const double interval = Entries(design, "a scan", {"alpha", "beta", "interval", "mu_reno", "mu_scalable", "limit"})
                                .as<double>("interval");
    return scan_loops(design, false, loops, points.size(),
                      [&](std::size_t loop, std::size_t n, const double *w, double *sums) {
                          return pi2_design_alias_sums(1, &points[loop], interval, static_cast<std::size_t>(count), n, 0, w,
                                                       sums);
                      });
}

Sums<2> design_alias_sums(Column rtt, Column mu, Column one, Column varies, Column kappa, Column near,
                             double interval, std::int64_t count, Rows<const double> w)
{
    require(interval > 0.0, "interval must be positive.");
    require(count >= 0 && count <= MOST_ALIASES, "count is outside [0, 2^20].");
    const std::size_t loops = rtt.shape(0), n = w.shape(1);
    for (const Column *column : {&mu, &one, &varies, &kappa, &near})
        require(column->shape(0) == loops, "the loops' parameters must be of one length.");
    require(w.shape(0) == loops || w.shape(0) == 1, "w must have a row for each loop, or one for all.");
    std::vector<pi2_design_loop> points(loops);
    for (std::size_t j = 0; j < loops; j++)
        points[j] = {rtt(j), mu(j), one(j), varies(j), kappa(j), near(j)};
    std::vector<std::complex<double>> sums(loops * n);
    bool done;
    {
        nb::gil_scoped_release release;
        done = pi2_design_alias_sums(loops, points.data(), interval, static_cast<std::size_t>(count), n,
                                     w.shape(0) == loops, w.data(), reinterpret_cast<double *>(sums.data()));
    }
    if (!done)
        throw std::bad_alloc();
    return nb::cast<Sums<2>>(as_array(std::move(sums), {loops, n}));
}

} // namespace

void register_alias_sums(nb::module_ &module)
{
    nb::class_<AliasSums>(module, "AliasSums", "The sums over aliases of one loop by the rate clock.")
        .def(nb::init<AllDescribed, ByName, double, std::int64_t>(), nb::arg("classes"), nb::arg("echoes"),
             nb::arg("interval"), nb::arg("count"),
             R"(Take classes (`pi2_linear_class`), echoes (delay, order2 to order4), interval, count.

Raises
------
ValueError
    If a name is missing or unknown, or a number of another type or out of range.
)")
        .def("at", &AliasSums::at, nb::arg("s").noconvert(),
             "(1/T) sum over k of G(s_k)/s_k, s_k = s + 2 pi j k/T, at each s. Releases the GIL.");
    module.def("scan_designs", &scan_designs, nb::kw_only(), nb::arg("design"), nb::arg("loops").noconvert(),
               nb::arg("points").noconvert(), nb::arg("count"),
               R"(Gain margin (dB), phase margin (deg) and least |1 + L| of loops of a design (native/margins/search/scan.h).

`design` has the gains, the interval and the limits of `pi2_scan_design`. `loops` has rows: R, m,
1/window, signals per round trip, 1 for Scalable, and what the sum over aliases is times; `points`
those of `pi2_design_loop`. Returns three rows. Releases the GIL.
)");
    module.def("design_alias_sums", &design_alias_sums, nb::kw_only(), nb::arg("rtt").noconvert(),
               nb::arg("mu").noconvert(), nb::arg("one").noconvert(), nb::arg("varies").noconvert(),
               nb::arg("kappa").noconvert(), nb::arg("near").noconvert(), nb::arg("interval"), nb::arg("count"),
               nb::arg("w").noconvert(), R"(The sums over aliases of many loops of a design, at frequencies of all or of each.

The loops are those of `pi2_design_loop`, in units of their round-trip time; `w` (rad/s) has a
row for each, or one for all. Returns a row for each loop. Releases the GIL.
)");
}
