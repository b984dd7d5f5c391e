// What arrays of loops by either clock have in common: columns of numbers, the controller, and what is asked of each loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "margins/search/controller.h"
#include "margins/search/crossings.h"

namespace binding {

using Column = Line<const double>;
using Whole = Line<const std::int64_t>;
using Table = nanobind::ndarray<nanobind::numpy, double, nanobind::ndim<2>>;

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

// The controller of each loop.
class Controllers {
  public:
    Controllers(const Loops &loops, Rows<const double> top, Rows<const double> bottom, Column unit, Column interval,
                const std::string &update)
        : update(static_cast<pi2_update>(place_of(update, {"continuous", "delayed", "sampled"}, "update"))), top(top),
          bottom(bottom), unit(loops.of_each(unit, "unit")), interval(loops.of_each(interval, "interval"))
    {
        const std::size_t terms = top.shape(0);
        require(terms >= 1 && terms <= PI2_CONTROLLER_COEFFICIENTS && bottom.shape(0) == terms,
                "top and bottom must have 1 to 8 coefficients, and as many.");
        require(top.shape(1) == loops.n && bottom.shape(1) == loops.n, "top and bottom must have a column for each loop.");
        for (std::size_t i = 0; i < loops.n; i++)
            require(this->update == PI2_CONTINUOUS || interval(i) > 0.0, "interval must be positive.");
    }

    pi2_controller at(std::size_t i) const
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

    const pi2_update update;

  private:
    Rows<const double> top, bottom;
    Column unit, interval;
};

// Arrays of loops that are searched one by one. What is derived from it has Room, memory that is used from loop to loop with
// a pi2_searching in it, and prepare(i, room, loop), which makes the loop i or says that memory lacks.
template <typename Derived> class SearchedLoops {
  public:
    explicit SearchedLoops(std::size_t n) : loops(n) {}

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

    Table near(Column w_gc, Column w_pc) const
    {
        (void)loops.of_each(w_gc, "w_gc");
        (void)loops.of_each(w_pc, "w_pc");
        std::size_t next = 0; // loops are asked one after the other
        return each(0, loops.n, 4, [&](const pi2_loop &loop, pi2_searching &, double *found) {
            found[2] = w_gc(next);
            found[3] = w_pc(next++);
            return pi2_find_near(&loop, &found[2], &found[3], &found[0], &found[1]);
        });
    }

  protected:
    const Loops loops;

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
            nanobind::gil_scoped_release release;
            typename Derived::Room room;
            for (std::size_t i = first; i < last && done; i++) {
                pi2_loop loop;
                pi2_outcome outcome = PI2_NO_MEMORY;
                if (static_cast<const Derived *>(this)->prepare(i, room, loop))
                    outcome = function(loop, room.searching, found.data());
                done = outcome != PI2_NO_MEMORY;
                for (std::size_t row = 0; row < rows; row++)
                    table[row * n + i - first] =
                        outcome == PI2_DONE ? found[row] : std::numeric_limits<double>::quiet_NaN();
            }
        }
        if (!done)
            throw std::bad_alloc();
        return nanobind::cast<Table>(as_array(std::move(table), {rows, n}));
    }
};

// The methods of such a class, with what Python is told of them.
template <typename Class> void define_searches(Class &defined)
{
    using Type = typename Class::Type;
    namespace nb = nanobind;
    defined
        .def("margins", &Type::margins, nb::arg("first"), nb::arg("last"),
             R"(Margins of the loops from first to last - 1, searched for all of their crossovers.

Rows: gain margin (dB), phase margin (degrees), gain and phase crossover (rad/s), delay margin
(s), lower gain margin (dB), and how many modes grow, NaN where that was not counted; all NaN where
a loop cannot be followed. Releases the GIL.
)")
        .def("near", &Type::near, nb::arg("w_gc").noconvert(), nb::arg("w_pc").noconvert(),
             R"(Margins at the crossings of all loops next to known frequencies (rad/s); others are not looked for.

Rows: gain margin (dB), phase margin (degrees, not wrapped), gain and phase crossover; NaN where none is near. Releases the GIL.
)")
        .def("nearest", &Type::nearest, nb::arg("first"), nb::arg("last"),
             "The smallest |1 + L| of each of them, in a row; NaN likewise. Releases the GIL.")
        .def("unstable", &Type::unstable, nb::arg("first"), nb::arg("last"),
             R"(How many modes of the closed loop of each of them grow, in a row.

-1: it is on the boundary; NaN likewise. Releases the GIL.
)");
}

} // namespace binding
