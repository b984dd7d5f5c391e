// Arrays of loops by the rate clock: margins, |1 + L| and unstable modes, searched on followed curves; and margins of
// sampled ones that are proved to cross once.
#include "binding/linear_loops.h"

#include <nanobind/stl/optional.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/linear_class.h"
#include "binding/searched_loops.h"
#include "margins/closed/sampled_margins.h"
#include "margins/search/linear_loop.h"

namespace nb = nanobind;
using namespace binding;

namespace {

constexpr std::int64_t MOST_ALIASES = 1 << 20;

using Columns = nb::typed<nb::list, Dict<Column>>;

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

class LinearLoops : public SearchedLoops<LinearLoops> {
  public:
    struct Room {
        pi2_searching searching = {};
        std::vector<pi2_linear_class> classes;
        std::vector<pi2_echo> echoes;
        std::unique_ptr<pi2_linear_sums, FreeSums> sums, rough;
        pi2_linear_loop loop;

        Room() = default;
        Room(const Room &) = delete;
        Room &operator=(const Room &) = delete;
        ~Room() { pi2_searching_free(&searching); }
    };

    LinearLoops(AllDescribed classes, Columns echoes, Rows<const double> top, Rows<const double> bottom, Column unit,
                Column interval, Column slow, Whole integrators, Whole settles, Whole aliases, const std::string &update,
                const std::optional<std::string> &simd)
        : SearchedLoops(unit.shape(0)), controllers(loops, top, bottom, unit, interval, update),
          slow(loops.of_each(slow, "slow")), integrators(loops.of_each(integrators, "integrators")),
          settles(loops.of_each(settles, "settles")), aliases(loops.of_each(aliases, "aliases")), simd(simd_level(simd))
    {
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
        for (std::size_t i = 0; i < loops.n; i++)
            require(aliases(i) >= 0 && aliases(i) <= MOST_ALIASES, "aliases are outside [0, 2^20].");
    }

    bool prepare(std::size_t i, Room &room, pi2_loop &to) const
    {
        room.classes.clear();
        room.echoes.clear();
        for (const ClassColumns &cls : classes)
            room.classes.push_back(cls.at(i));
        for (const EchoColumns &echo : echoes)
            room.echoes.push_back(echo.at(i));
        pi2_linear_loop &loop = room.loop;
        loop = {};
        loop.controller = controllers.at(i);
        loop.classes = room.classes.size();
        loop.cls = room.classes.data();
        loop.integrators = static_cast<int>(integrators(i));
        loop.settles = settles(i) != 0;
        loop.slow = slow(i);
        if (controllers.update == PI2_SAMPLED) {
            const auto all = static_cast<std::size_t>(aliases(i));
            const auto make = [&](std::size_t count) {
                return pi2_linear_sums_make(simd, room.classes.size(), room.classes.data(), room.echoes.size(),
                                            room.echoes.data(), loop.controller.interval, count);
            };
            room.sums.reset(make(all));
            room.rough.reset(make(pi2_rough_aliases(all)));
            loop.sums = room.sums.get();
            loop.rough = room.rough.get();
            if (!loop.sums || !loop.rough)
                return false;
        }
        to = pi2_loop_of_rates(&loop);
        return true;
    }

  private:
    const Controllers controllers;
    std::vector<ClassColumns> classes;
    std::vector<EchoColumns> echoes;
    Column slow;
    Whole integrators, settles, aliases;
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
    nb::class_<LinearLoops> loops(module, "LinearLoops", "An array of loops by the rate clock.");
    loops
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
)");
    define_searches(loops);
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
