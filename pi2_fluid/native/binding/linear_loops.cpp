// Arrays of loops by the rate clock: margins, |1 + L| and unstable modes, searched on followed curves; and margins of
// sampled ones that are proved to cross once.
#include "binding/linear_loops.h"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/linear_class.h"
#include "margins/closed/sampled_margins.h"
#include "margins/search/crossings.h"
#include "margins/search/linear_loop.h"

namespace nb = nanobind;
using namespace binding;

namespace {

constexpr std::int64_t MOST_ALIASES = 1 << 20;

using Column = Line<const double>;
using Whole = Line<const std::int64_t>;
using Table = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Columns = nb::typed<nb::list, Dict<Column>>;

// A number of each loop.
class Loops {
  public:
    explicit Loops(std::size_t n) : n(n) {}

    template <typename Array> Array of_each(Array array, const char *name) const
    {
        if (array.shape(0) != n)
            refuse(std::string(name) + " has " + std::to_string(array.shape(0)) + " numbers for " + std::to_string(n)
                   + " loops.");
        return array;
    }

    Column column(const Entries &given, const char *name) const
    {
        return of_each(given.as<Column>(name), name);
    }

    const std::size_t n;
};

struct ClassColumns {
    Rows<const double> own, signal, delay; // a row for each term
    Column r, weight, rtt, lead, rates, heard, shown, felt;

    pi2_linear_class at(std::size_t i) const
    {
        pi2_linear_class cls = {};
        cls.states = states_of(own.shape(0));
        for (std::size_t k = 0; k < own.shape(0); k++) {
            cls.own[k] = own(k, i);
            cls.signal[k] = signal(k, i);
            cls.delay[k] = delay(k, i);
        }
        cls.r = r(i);
        cls.weight = weight(i);
        cls.rtt = rtt(i);
        cls.lead = lead(i);
        cls.rates = rates(i);
        cls.heard = heard(i);
        cls.shown = shown(i);
        cls.felt = felt(i);
        return cls;
    }
};

struct EchoColumns {
    Column delay, order2, order3, order4;

    pi2_echo at(std::size_t i) const { return {delay(i), {order2(i), order3(i), order4(i)}}; }
};

struct FreeSums {
    void operator()(pi2_linear_sums *sums) const { pi2_linear_sums_free(sums); }
};

// Memory that is used from loop to loop.
struct Room {
    pi2_searching searching = {};
    std::vector<pi2_linear_class> classes;
    std::vector<pi2_echo> echoes;
    std::unique_ptr<pi2_linear_sums, FreeSums> sums, rough;

    Room() = default;
    Room(const Room &) = delete;
    Room &operator=(const Room &) = delete;
    ~Room() { pi2_searching_free(&searching); }
};

class LinearLoops {
  public:
    LinearLoops(AllDescribed classes, Columns echoes, Rows<const double> top, Rows<const double> bottom, Column unit,
                Column interval, Column slow, Whole integrators, Whole settles, Whole aliases, const std::string &update,
                const std::optional<std::string> &simd)
        : loops(unit.shape(0)), top(top), bottom(bottom), unit(unit), interval(loops.of_each(interval, "interval")),
          slow(loops.of_each(slow, "slow")), integrators(loops.of_each(integrators, "integrators")),
          settles(loops.of_each(settles, "settles")),
          aliases(loops.of_each(aliases, "aliases")),
          update(static_cast<pi2_update>(place_of(update, {"continuous", "delayed", "sampled"}, "update"))),
          simd(simd_level(simd))
    {
        const std::size_t terms = top.shape(0);
        require(terms >= 1 && terms <= PI2_CONTROLLER_COEFFICIENTS && bottom.shape(0) == terms,
                "top and bottom must have 1 to 8 coefficients, and as many.");
        require(top.shape(1) == loops.n && bottom.shape(1) == loops.n, "top and bottom must have a column for each loop.");
        require(classes.size() > 0, "there must be a class.");
        for (nb::handle object : classes) {
            const Entries given(object, "a class of flows", names_of_classes());
            const auto own = given.as<Rows<const double>>("own");
            (void)states_of(own.shape(0));
            const auto table = [&](const char *name) {
                const auto rows = given.as<Rows<const double>>(name);
                if (rows.shape(0) != own.shape(0) || rows.shape(1) != loops.n)
                    refuse(std::string(name) + " must have a row for each term and a column for each loop.");
                return rows;
            };
            const auto column = [&](const char *name) { return loops.column(given, name); };
            this->classes.push_back({table("own"), table("signal"), table("delay"), column("r"), column("weight"),
                                     column("rtt"), column("lead"), column("rates"), column("heard"), column("shown"),
                                     column("felt")});
        }
        for (nb::handle object : echoes) {
            const Entries given(object, "an echo", {"delay", "order2", "order3", "order4"});
            const auto column = [&](const char *name) { return loops.column(given, name); };
            this->echoes.push_back({column("delay"), column("order2"), column("order3"), column("order4")});
        }
        for (std::size_t i = 0; i < loops.n; i++) {
            require(aliases(i) >= 0 && aliases(i) <= MOST_ALIASES, "aliases are outside [0, 2^20].");
            require(this->update == PI2_CONTINUOUS || interval(i) > 0.0, "interval must be positive.");
        }
    }

    Table margins(std::size_t first, std::size_t last) const
    {
        return each(first, last, 7, [](const pi2_loop &loop, pi2_searching &room, double *found) {
            pi2_loop_margins margins = {};
            const pi2_outcome outcome = pi2_find_margins(&loop, &room, &margins);
            const double row[] = {margins.gm_db, margins.pm_deg,   margins.w_gc,    margins.w_pc,
                                  margins.delay, margins.lower_db, margins.unstable};
            std::copy(std::begin(row), std::end(row), found);
            return outcome;
        });
    }

    Table nearest(std::size_t first, std::size_t last) const
    {
        return each(first, last, 1, [](const pi2_loop &loop, pi2_searching &room, double *found) {
            return pi2_find_nearest(&loop, &room, found);
        });
    }

    Table unstable(std::size_t first, std::size_t last) const
    {
        return each(first, last, 1, [](const pi2_loop &loop, pi2_searching &room, double *found) {
            int count = 0;
            const pi2_outcome outcome = pi2_count_unstable(&loop, &room, &count);
            *found = count == PI2_ON_CONTOUR ? -1.0 : count;
            return outcome;
        });
    }

  private:
    // Rows of what `function` finds of the loops from first to last - 1, NaN where it does not.
    template <typename Function>
    Table each(std::size_t first, std::size_t last, std::size_t rows, const Function &function) const
    {
        require(first <= last && last <= loops.n, "first and last are outside the array.");
        const std::size_t n = last - first;
        std::vector<double> table(rows * n), found(rows);
        bool done = true;
        {
            nb::gil_scoped_release release;
            Room room;
            for (std::size_t i = first; i < last && done; i++) {
                pi2_linear_loop loop;
                pi2_outcome outcome = PI2_NO_MEMORY;
                if (prepare(i, room, loop))
                    outcome = function(pi2_loop_of_rates(&loop), room.searching, found.data());
                done = outcome != PI2_NO_MEMORY;
                for (std::size_t row = 0; row < rows; row++)
                    table[row * n + i - first] =
                        outcome == PI2_DONE ? found[row] : std::numeric_limits<double>::quiet_NaN();
            }
        }
        if (!done)
            throw std::bad_alloc();
        return nb::cast<Table>(as_array(std::move(table), {rows, n}));
    }

    pi2_controller controller_at(std::size_t i) const
    {
        pi2_controller controller = {};
        controller.update = update;
        controller.degree = static_cast<int>(top.shape(0)) - 1;
        for (int k = 0; k <= controller.degree; k++) {
            controller.top[k] = top(static_cast<std::size_t>(k), i);
            controller.bottom[k] = bottom(static_cast<std::size_t>(k), i);
        }
        controller.unit = unit(i);
        controller.interval = interval(i);
        return controller;
    }

    bool prepare(std::size_t i, Room &room, pi2_linear_loop &loop) const
    {
        room.classes.clear();
        room.echoes.clear();
        for (const ClassColumns &cls : classes)
            room.classes.push_back(cls.at(i));
        for (const EchoColumns &echo : echoes)
            room.echoes.push_back(echo.at(i));
        loop = {};
        loop.controller = controller_at(i);
        loop.classes = room.classes.size();
        loop.cls = room.classes.data();
        loop.integrators = static_cast<int>(integrators(i));
        loop.settles = settles(i) != 0;
        loop.slow = slow(i);
        if (update == PI2_SAMPLED) {
            const auto all = static_cast<std::size_t>(aliases(i));
            const auto make = [&](std::size_t count) {
                return pi2_linear_sums_make(simd, room.classes.size(), room.classes.data(), room.echoes.size(),
                                            room.echoes.data(), loop.controller.interval, count);
            };
            room.sums.reset(make(all));
            room.rough.reset(make(pi2_rough_aliases(all)));
            loop.sums = room.sums.get();
            loop.rough = room.rough.get();
        }
        return update != PI2_SAMPLED || (loop.sums && loop.rough);
    }

    const Loops loops;
    std::vector<ClassColumns> classes;
    std::vector<EchoColumns> echoes;
    Rows<const double> top, bottom;
    Column unit, interval, slow;
    Whole integrators, settles, aliases;
    pi2_update update;
    int simd;
};

Table sampled_margins(bool scalable, bool varies, Column m, Column mu, Column a, Column rho, Column theta,
                      const std::optional<std::string> &simd)
{
    const std::size_t n = m.shape(0);
    for (const Column *column : {&mu, &a, &rho, &theta})
        require(column->shape(0) == n, "the loops' parameters must be of one length.");
    const int level = simd_level(simd);
    std::vector<double> rows(4 * n);
    {
        nb::gil_scoped_release release;
        const pi2_sampled_input input = {m.data(), mu.data(), a.data(), rho.data(), theta.data()};
        double *const first = rows.data();
        pi2_sampled_margins(level, scalable, varies, n, input, {first, first + n, first + 2 * n, first + 3 * n});
    }
    return nb::cast<Table>(as_array(std::move(rows), {4, n}));
}

} // namespace

void register_linear_loops(nb::module_ &module)
{
    nb::class_<LinearLoops>(module, "LinearLoops", "An array of loops by the rate clock.")
        .def(nb::init<AllDescribed, Columns, Rows<const double>, Rows<const double>, Column, Column, Column, Whole, Whole, Whole,
                      const std::string &, const std::optional<std::string> &>(),
             nb::arg("classes"), nb::arg("echoes"), nb::kw_only(), nb::arg("top").noconvert(),
             nb::arg("bottom").noconvert(), nb::arg("unit").noconvert(), nb::arg("interval").noconvert(),
             nb::arg("slow").noconvert(), nb::arg("integrators").noconvert(), nb::arg("settles").noconvert(),
             nb::arg("aliases").noconvert(), nb::arg("update"), nb::arg("simd").none() = nb::none(),
             R"(Take the numbers of `pi2_linear_loop`, each an array with one of each loop.

Classes are dicts of `pi2_linear_class`, whose polynomials have a row for each term, echoes of delay and order2 to order4; `top` and
`bottom` have a row for each coefficient.

Raises
------
ValueError
    If a name is missing or unknown, or a number or length is out of range.
)")
        .def("margins", &LinearLoops::margins, nb::arg("first"), nb::arg("last"),
             R"(Margins of the loops from first to last - 1, searched for all of their crossovers.

Rows: gain margin (dB), phase margin (degrees), gain and phase crossover (rad/s), delay margin
(s), lower gain margin (dB), and how many modes grow, NaN where that was not counted; all NaN where
a loop cannot be followed. Releases the GIL.
)")
        .def("nearest", &LinearLoops::nearest, nb::arg("first"), nb::arg("last"),
             "The smallest |1 + L| of each of them, in a row; NaN likewise. Releases the GIL.")
        .def("unstable", &LinearLoops::unstable, nb::arg("first"), nb::arg("last"),
             R"(How many modes of the closed loop of each of them grow, in a row.

-1: it is on the boundary; NaN likewise. Releases the GIL.
)");
    module.def("sampled_margins", &sampled_margins, nb::kw_only(), nb::arg("scalable"), nb::arg("varies"),
               nb::arg("m").noconvert(), nb::arg("mu").noconvert(), nb::arg("a").noconvert(), nb::arg("rho").noconvert(),
               nb::arg("theta").noconvert(), nb::arg("simd").none() = nb::none(),
               R"(Margins of sampled loops of one class by the rate clock (native/margins/closed/sampled_margins.h).

Returns rows: gain margin (dB), phase margin (degrees), v = w R at the gain and at the phase
crossover; NaN where these are not proved to be the ones that matter. Releases the GIL.

Raises
------
ValueError
    If the parameters differ in length, or this machine lacks the instruction set.
)");
}
