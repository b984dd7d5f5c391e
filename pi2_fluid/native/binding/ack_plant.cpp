// Loops by the clock of acknowledgements: the response of senders and queue, its sums over aliases, and margins.
#include "binding/ack_plant.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <complex>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/scans.h"
#include "margins/closed/ack_margins.h"
#include "margins/aliases/ack_plant.h"

namespace nb = nanobind;
using namespace binding;

namespace {

constexpr std::size_t MOST_PAIRS = 1 << 20;

void polynomial(const Entries &given, const char *name, double (&to)[PI2_ACK_COEFFICIENTS])
{
    const auto found = given.as<Numbers>(name);
    if (found.size() > PI2_ACK_COEFFICIENTS)
        refuse(given.what + " " + name + " takes " + std::to_string(PI2_ACK_COEFFICIENTS) + " coefficients at most, not "
               + std::to_string(found.size()) + ".");
    std::fill(std::copy(found.begin(), found.end(), to), to + PI2_ACK_COEFFICIENTS, 0.0);
}

pi2_ack_class class_of(nb::handle object)
{
    const Entries given(object, "a class of flows",
                        {"own", "own_reduced", "signal", "signal_reduced", "acks", "acks_reduced", "base_rtt", "rtt",
                         "heard", "share", "smoothing", "waits", "reduces", "paced"});
    pi2_ack_class cls;
    polynomial(given, "own", cls.own[0]);
    polynomial(given, "own_reduced", cls.own[1]);
    polynomial(given, "signal", cls.signal[0]);
    polynomial(given, "signal_reduced", cls.signal[1]);
    polynomial(given, "acks", cls.acks[0]);
    polynomial(given, "acks_reduced", cls.acks[1]);
    cls.base_rtt = given.as<double>("base_rtt");
    cls.rtt = given.as<double>("rtt");
    cls.heard = given.as<double>("heard");
    cls.share = given.as<double>("share");
    cls.smoothing = given.as<double>("smoothing");
    cls.waits = given.as<bool>("waits");
    cls.reduces = given.as<bool>("reduces");
    cls.paced = given.as<bool>("paced");
    return cls;
}

using Points = Line<const std::complex<double>>;
using Values = nb::ndarray<nb::numpy, std::complex<double>, nb::ndim<1>>;

// Asks `function` for the values at n points, without the GIL.
template <typename Function> Values answer(const Points &s, const Function &function)
{
    const std::size_t n = s.shape(0);
    std::vector<std::complex<double>> values(n);
    bool done;
    {
        nb::gil_scoped_release release;
        done = function(n, reinterpret_cast<const double *>(s.data()), reinterpret_cast<double *>(values.data()));
    }
    if (!done)
        throw std::bad_alloc();
    return nb::cast<Values>(as_array(std::move(values), {n}));
}

class AckPlant {
  public:
    AckPlant(AllDescribed classes, double queue_delay, double bunch, bool head)
    {
        std::vector<pi2_ack_class> all;
        for (nb::handle object : classes)
            all.push_back(class_of(object));
        const pi2_ack_queue queue = {queue_delay, bunch, head};
        plant.reset(pi2_ack_plant_make(all.size(), all.data(), &queue), pi2_ack_plant_free);
        if (!plant)
            throw std::bad_alloc();
    }

    Values at(Points s) const
    {
        return answer(s, [&](std::size_t n, const double *points, double *values) {
            return pi2_ack_plant_at(plant.get(), n, points, values);
        });
    }

    std::shared_ptr<const pi2_ack_plant> plant;
};

class AckSums {
  public:
    using Weights = Line<const double>;
    using Points = Rows<const std::complex<double>>;
    using Values = nb::ndarray<nb::numpy, std::complex<double>, nb::ndim<2>>;

    AckSums(const std::vector<const AckPlant *> &of, const Numbers &interval, Weights whole, Weights mean, bool echoing)
    {
        const std::size_t aliases = whole.shape(0);
        require(interval.size() == of.size(), "there must be an interval for each plant.");
        require(mean.shape(0) == aliases, "the weights must be of one length.");
        require(aliases > 0 && aliases % 2 == 0 && aliases / 2 <= MOST_PAIRS,
                "there must be weights of 1 to 2^20 pairs of aliases.");
        for (std::size_t i = 0; i < of.size(); i++) {
            require(of[i] != nullptr, "None is no plant.");
            require(interval[i] > 0.0, "interval must be positive.");
            plants.push_back(of[i]->plant);
            sums.emplace_back(
                pi2_ack_sums_make(plants[i].get(), interval[i], aliases / 2, whole.data(), mean.data(), echoing));
            if (!sums[i])
                throw std::bad_alloc();
        }
    }

    AckSums(const AckSums &) = delete; // a vector of what cannot be copied says that it can be

    Values at(Points s) const
    {
        const std::size_t n = s.shape(1);
        require(s.shape(0) == sums.size(), "s must have a row for each plant.");
        std::vector<std::complex<double>> values(sums.size() * n);
        bool done = true;
        {
            nb::gil_scoped_release release;
            for (std::size_t i = 0; i < sums.size(); i++)
                done &= pi2_ack_sums_at(sums[i].get(), n, reinterpret_cast<const double *>(s.data() + i * n),
                                        reinterpret_cast<double *>(values.data() + i * n)) != 0;
        }
        if (!done)
            throw std::bad_alloc();
        return nb::cast<Values>(as_array(std::move(values), {sums.size(), n}));
    }

    Scanned scan(const Dict<double> &design, Rows<const double> loops) const
    {
        return scan_loops(design, true, loops, sums.size(),
                          [&](std::size_t loop, std::size_t n, const double *w, double *values) {
                              double s[2 * MOST_AT_ONCE];
                              if (n > MOST_AT_ONCE)
                                  return 0;
                              for (std::size_t i = 0; i < n; i++) {
                                  s[2 * i] = 0.0;
                                  s[2 * i + 1] = w[i];
                              }
                              return pi2_ack_sums_at(sums[loop].get(), n, s, values);
                          });
    }

  private:
    static constexpr std::size_t MOST_AT_ONCE = 64; // more than the frequencies of a scan
    struct Free {
        void operator()(pi2_ack_sums *sums) const { pi2_ack_sums_free(sums); }
    };
    std::vector<std::shared_ptr<const pi2_ack_plant>> plants; // which the sums need as long as they last
    std::vector<std::unique_ptr<pi2_ack_sums, Free>> sums;
};

using Column = Line<const double>;
using Table = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

Table ack_margins(bool reduces, Column gain, Column a, Column c, Column own, Column cut, Column delay)
{
    const std::size_t n = gain.shape(0);
    for (const Column *column : {&a, &c, &own, &cut, &delay})
        require(column->shape(0) == n, "the loops' parameters must be of one length.");
    std::vector<double> rows(4 * n);
    {
        nb::gil_scoped_release release;
        const pi2_ack_input input = {gain.data(), a.data(), c.data(), own.data(), cut.data(), delay.data()};
        double *const first = rows.data();
        pi2_ack_margins(reduces, n, input, {first, first + n, first + 2 * n, first + 3 * n});
    }
    return nb::cast<Table>(as_array(std::move(rows), {4, n}));
}

} // namespace

void register_ack_plant(nb::module_ &module)
{
    nb::class_<AckPlant>(module, "AckPlant", "Senders and queue of one loop by the clock of acknowledgements.")
        .def(nb::init<AllDescribed, double, double, bool>(), nb::arg("classes"), nb::kw_only(), nb::arg("queue_delay"),
             nb::arg("bunch"), nb::arg("head"),
             R"(Take classes (`pi2_ack_class`), whose polynomials are lists of coefficients in rising powers of s.

Raises
------
ValueError
    If a name is missing or unknown, a number of another type, or a polynomial too long.
)")
        .def("at", &AckPlant::at, nb::arg("s").noconvert(),
             "From the controller's variable to minus the delay that it acts on, at each s. Releases the GIL.");
    nb::class_<AckSums>(module, "AckSums", "The sums over aliases of some of `AckPlant`.")
        .def(nb::init<const std::vector<const AckPlant *> &, const Numbers &, AckSums::Weights, AckSums::Weights, bool>(),
             nb::arg("plants"), nb::kw_only(), nb::arg("interval"), nb::arg("whole").noconvert(),
             nb::arg("mean").noconvert(), nb::arg("echoing"),
             R"(Take an interval for each, and the weights of all aliases from k = -pairs to pairs - 1: of the sum, and of the mean.

With `echoing` packets that are served first come back in all aliases, else in that of k = 0.

Raises
------
ValueError
    If an interval or the number of intervals or of weights is out of range.
)")
        .def("at", &AckSums::at, nb::arg("s").noconvert(),
             R"((1/T) sum over k of G(s_k)/s_k, s_k = s + 2 pi j k/T, at each s. Releases the GIL.

`s` has a row for each plant, and so has what is returned.
)")
        .def("scan", &AckSums::scan, nb::kw_only(), nb::arg("design"), nb::arg("loops").noconvert(),
             R"(Gain margin (dB), phase margin (deg) and least |1 + L| of each, as `scan_designs` has them.

The sums are those of the interval that the design has. Releases the GIL.
)");
    module.def("ack_margins", &ack_margins, nb::kw_only(), nb::arg("reduces"), nb::arg("gain").noconvert(),
               nb::arg("a").noconvert(), nb::arg("c").noconvert(), nb::arg("own").noconvert(),
               nb::arg("cut").noconvert(), nb::arg("delay").noconvert(),
               R"(Margins of loops of one class by the clock of acknowledgements (native/margins/closed/ack_margins.h).

Returns rows: gain margin (dB), phase margin (degrees), v = w R at the gain and at the phase
crossover; NaN where these are not proved to be the ones that matter. Releases the GIL.
)");
}
