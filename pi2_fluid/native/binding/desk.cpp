// Part of pi2_fluid._core: where flows and a queue rest, and the margins of their loop, from the tapes of their laws.
#include "binding/desk.h"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/desk_laws.h"
#include "desk/loop.h"
#include "margins/search/crossings.h"

namespace nb = nanobind;
using namespace binding;

namespace {

using Table = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Column = Line<const double>;
// A number, or one for each loop.
using Given = Told<std::variant<double, Column>>;

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

// A number of each loop.
class Value {
  public:
    Value(nb::handle given, std::size_t n, const char *name)
    {
        if (nb::try_cast<double>(given, one))
            return;
        if (!nb::try_cast<Column>(given, column) || column.shape(0) != n)
            refuse(std::string(name) + " is neither a number nor one for each loop.");
        each = column.data();
    }

    double at(std::size_t i) const { return each ? each[i] : one; }

  private:
    double one = 0.0;
    const double *each = nullptr;
    Column column;
};

class Several {
  public:
    Several(nb::handle given, std::size_t n, int count, const char *name)
    {
        nb::sequence all;
        if (!nb::try_cast<nb::sequence>(given, all))
            refuse(std::string(name) + " are no sequence.");
        for (nb::handle value : all)
            values.emplace_back(value, n, name);
        if (count >= 0 && values.size() != static_cast<std::size_t>(count))
            refuse(std::string(name) + " are " + std::to_string(values.size()) + " instead of " + std::to_string(count) + ".");
    }

    void at(std::size_t i, double *to) const
    {
        for (const Value &value : values)
            *to++ = value.at(i);
    }

    std::size_t size() const { return values.size(); }

  private:
    std::vector<Value> values;
};

const std::vector<std::string> &names_of_flows()
{
    static const std::vector<std::string> names = {"law", "numbers", "count", "base_rtt"};
    return names;
}

// Flows and a queue, of n loops.
class Desk {
  public:
    Desk(const DeskQueue &law, Told<Many<Given>> numbers, Given highest, Given load, Given packets, Given interval,
         nb::typed<nb::list, nb::any> classes, std::size_t n)
        : n(n), law(law), kept(nb::find(law)), numbers(numbers, n, law.functions.parameters, "numbers of the queue"),
          highest(highest, n, "highest"), load(load, n, "load"), packets(packets, n, "packets"),
          interval(interval, n, "interval")
    {
        require(classes.size() > 0, "there must be a class.");
        for (nb::handle one : classes) {
            nb::tuple parts;
            if (!nb::try_cast<nb::tuple>(one, parts) || parts.size() != names_of_flows().size())
                refuse("a class is law, numbers, count and base_rtt.");
            const DeskSender *sender;
            if (!nb::try_cast<const DeskSender *>(parts[0], sender) || !sender)
                refuse("a class's law is none of the desk.");
            this->classes.push_back({sender, nb::borrow(parts[0]),
                                     Several(parts[1], n, sender->functions.parameters, "numbers of a sender"),
                                     Value(parts[2], n, "count"), Value(parts[3], n, "base_rtt")});
        }
    }
    Desk(const Desk &) = delete;

    // Rows of u, both delays, and of each class p, round-trip time, rate and states; none where a loop has no rest here.
    std::optional<Table> rest() const
    {
        std::vector<double> table(height() * n);
        bool found = true;
        {
            nb::gil_scoped_release release;
            Room room(*this);
            for (std::size_t i = 0; i < n && found; i++) {
                prepare(i, room);
                pi2_queue_at_rest at = {};
                found = pi2_find_rest(&room.queue, static_cast<int>(classes.size()), room.flows.data(), &at, room.rests.data());
                double *to = table.data() + i;
                const auto put = [&](double value) {
                    *to = value;
                    to += n;
                };
                put(at.u);
                put(at.delay[0]);
                put(at.delay[1]);
                for (std::size_t c = 0; c < classes.size(); c++) {
                    const pi2_flows_at_rest &rest = room.rests[c];
                    put(rest.p);
                    put(rest.rtt);
                    put(rest.rate);
                    for (int k = 0; k < classes[c].law->states; k++)
                        put(rest.x[k]);
                }
            }
        }
        if (!found)
            return {};
        return nb::cast<Table>(as_array(std::move(table), {height(), n}));
    }

    // What is asked of each loop, where it rests.
    template <typename Function>
    Table each(Rows<const double> rests, const std::string &update, bool exact, const std::optional<std::string> &simd,
               std::size_t first, std::size_t last, std::size_t rows, const Function &function) const
    {
        require(rests.shape(0) == height() && rests.shape(1) == n, "rests have another shape.");
        require(first <= last && last <= n, "first and last are outside the array.");
        const auto model = static_cast<pi2_update>(place_of(update, {"continuous", "delayed", "sampled"}, "update"));
        require(model == PI2_CONTINUOUS || law.slopes.controller.ticks, "without updates update is continuous.");
        const int level = simd_level(simd);
        const std::size_t many = last - first;
        std::vector<double> table(rows * many), found(rows);
        bool done = true;
        {
            nb::gil_scoped_release release;
            Room room(*this);
            for (std::size_t i = first; i < last && done; i++) {
                pi2_queue_at_rest at = {};
                read(rests, i, at, room);
                prepare(i, room);
                pi2_linear_loop loop;
                const pi2_assembly made = pi2_assemble_loop(&room.queue, &room.slopes, static_cast<int>(classes.size()),
                                                            room.flows.data(), room.flow_slopes.data(), &at,
                                                            room.rests.data(), model, exact, level, &room.desk, &loop);
                pi2_outcome outcome = PI2_NO_MEMORY;
                if (made == PI2_LOOP_MADE)
                    outcome = function(pi2_loop_of_rates(&loop), room.searching, found.data());
                done = made == PI2_LOOP_ELSEWHERE || outcome != PI2_NO_MEMORY;
                for (std::size_t row = 0; row < rows; row++)
                    table[row * many + i - first] = made == PI2_LOOP_MADE && outcome == PI2_DONE ? found[row] : NOT_A_NUMBER;
            }
        }
        if (!done)
            throw std::bad_alloc();
        return nb::cast<Table>(as_array(std::move(table), {rows, many}));
    }

    Table margins(Rows<const double> rests, const std::string &update, bool exact, std::size_t first, std::size_t last,
                  const std::optional<std::string> &simd) const
    {
        return each(rests, update, exact, simd, first, last, 7,
                    [](const pi2_loop &loop, pi2_searching &room, double *found) {
                        pi2_loop_margins margins = {};
                        const pi2_outcome outcome = pi2_find_margins(&loop, &room, &margins);
                        const double row[] = {margins.gm_db, margins.pm_deg,   margins.w_gc,    margins.w_pc,
                                              margins.delay, margins.lower_db, margins.unstable};
                        std::copy(std::begin(row), std::end(row), found);
                        return outcome;
                    });
    }

    Table nearest(Rows<const double> rests, const std::string &update, bool exact, std::size_t first, std::size_t last,
                  const std::optional<std::string> &simd) const
    {
        return each(rests, update, exact, simd, first, last, 1,
                    [](const pi2_loop &loop, pi2_searching &room, double *found) {
                        return pi2_find_nearest(&loop, &room, found);
                    });
    }

    Table unstable(Rows<const double> rests, const std::string &update, bool exact, std::size_t first, std::size_t last,
                   const std::optional<std::string> &simd) const
    {
        return each(rests, update, exact, simd, first, last, 1,
                    [](const pi2_loop &loop, pi2_searching &room, double *found) {
                        int count = 0;
                        const pi2_outcome outcome = pi2_count_unstable(&loop, &room, &count);
                        *found = count == PI2_ON_CONTOUR ? -1.0 : count;
                        return outcome;
                    });
    }

    Table response(Rows<const double> rests, const std::string &update, bool exact, Column w,
                   const std::optional<std::string> &simd) const
    {
        const std::size_t points = w.shape(0);
        return each(rests, update, exact, simd, 0, n, 2 * points,
                    [&](const pi2_loop &loop, pi2_searching &, double *found) {
                        return loop.response.at(loop.response.of, points, w.data(), found) ? PI2_DONE : PI2_NO_MEMORY;
                    });
    }

  private:
    struct Class {
        const DeskSender *law;
        nb::object kept;
        Several numbers;
        Value count, base_rtt;
    };

    // What is used from loop to loop.
    struct Room {
        explicit Room(const Desk &desk)
            : flows(desk.classes.size()), flow_slopes(desk.classes.size()), rests(desk.classes.size()), numbers(desk.numbers.size())
        {
            for (const Class &cls : desk.classes) {
                flow_numbers.emplace_back(cls.numbers.size());
                flow_slopes[flow_numbers.size() - 1] = cls.law->slopes;
            }
        }
        Room(const Room &) = delete;
        ~Room()
        {
            pi2_desk_room_free(&desk);
            pi2_searching_free(&searching);
        }

        pi2_desk_queue queue = {};
        pi2_queue_slopes slopes = {};
        std::vector<pi2_desk_flows> flows;
        std::vector<pi2_flow_slopes> flow_slopes;
        std::vector<pi2_flows_at_rest> rests;
        Numbers numbers;
        std::vector<Numbers> flow_numbers;
        pi2_desk_room desk = {};
        pi2_searching searching = {};
    };

    std::size_t height() const
    {
        std::size_t rows = 3;
        for (const Class &cls : classes)
            rows += 3 + static_cast<std::size_t>(cls.law->states);
        return rows;
    }

    void prepare(std::size_t i, Room &room) const
    {
        numbers.at(i, room.numbers.data());
        room.queue = {law.encode, law.at_rest, room.numbers.data(), law.bands, law.states,
                      highest.at(i), load.at(i), packets.at(i)};
        room.slopes = law.slopes;
        room.slopes.interval = interval.at(i);
        for (std::size_t c = 0; c < classes.size(); c++) {
            const Class &cls = classes[c];
            cls.numbers.at(i, room.flow_numbers[c].data());
            room.flows[c] = {cls.law->at_rest, cls.law->rate,  cls.law->sending, room.flow_numbers[c].data(),
                             cls.law->states,  cls.law->hears, cls.count.at(i),  cls.base_rtt.at(i)};
        }
    }

    void read(const Rows<const double> &rests, std::size_t i, pi2_queue_at_rest &at, Room &room) const
    {
        const double *from = rests.data() + i;
        const auto take = [&] {
            const double value = *from;
            from += n;
            return value;
        };
        at.u = take();
        at.delay[0] = take();
        at.delay[1] = take();
        for (std::size_t c = 0; c < classes.size(); c++) {
            pi2_flows_at_rest &rest = room.rests[c];
            rest.p = take();
            rest.rtt = take();
            rest.rate = take();
            for (int k = 0; k < classes[c].law->states; k++)
                rest.x[k] = take();
        }
    }

    const std::size_t n;
    const DeskQueue &law;
    nb::object kept;
    Several numbers;
    Value highest, load, packets, interval;
    std::vector<Class> classes;
};

} // namespace

void register_desk(nb::module_ &module)
{
    nb::class_<DeskSender>(module, "DeskSender", "A sender's law on the desk: functions and slopes, as tapes.")
        .def(nb::init<const Tapes &, int, int>(), nb::arg("tapes"), nb::arg("states"), nb::arg("hears"),
             R"(Take the tapes of laws of one kind, whose parameters are the law's numbers.

`at_rest` (round-trip time, p), or of one state `rate`; `sending` (state, p, round-trip time); `rate_slopes` over all inputs of
`rate`, `sending_slopes` over state and round-trip time. `hears`: 0 nothing, 1 what Classic, 2 what Scalable packets hear.

Raises
------
ValueError
    If one is missing, or takes or gives other numbers.
)");
    nb::class_<DeskQueue>(module, "DeskQueue", "A queue's law on the desk: functions and slopes, as tapes.")
        .def(nb::init<const Tapes &, int, int, bool>(), nb::arg("tapes"), nb::arg("states"), nb::arg("bands"),
             nb::arg("ticks"),
             R"(Take the tapes of laws of one kind, whose parameters are the law's numbers.

`encode` (u), `at_rest` (u, packets per second), `controller` (state); `encode_slopes`, `picks` of the controller's variable
over the state, `moves` of its update, or without ticks of its drift, over state, queue delays and arrivals. Of two bands
`serve`, `serve_slope` and `delay_slopes`, as native/desk/loop.h says.

Raises
------
ValueError
    If one is missing, or takes or gives other numbers.
)");
    nb::class_<Desk>(module, "Desk", "Classes of flows and the queue that they share: n of them.")
        .def(nb::init<const DeskQueue &, Told<Many<Given>>, Given, Given, Given, Given, nb::typed<nb::list, nb::any>,
                      std::size_t>(),
             nb::arg("queue"), nb::arg("numbers"), nb::kw_only(), nb::arg("highest"), nb::arg("load"),
             nb::arg("packets"), nb::arg("interval"), nb::arg("classes"), nb::arg("n"),
             R"(Take numbers, each of them one or an array of n.

`numbers` are the parameters of the queue's tapes, `classes` tuples of a `DeskSender`, the parameters of its tapes, the number
of flows and their base round-trip time (s). `interval` is 0 without updates.

Raises
------
ValueError
    If a length or a type is another.
)")
        .def("rest", &Desk::rest,
             R"(Where they rest, in n columns; None if one of them has no rest here.

Rows: the controller's variable, both queue delays (s), and of each class p, round-trip time (s), rate of a flow (segments/s)
and states. Releases the GIL.
)")
        .def("margins", &Desk::margins, nb::arg("rests").noconvert(), nb::arg("update"), nb::arg("exact"), nb::arg("first"),
             nb::arg("last"), nb::arg("simd").none() = nb::none(),
             R"(Margins of the loops from first to last - 1 where they rest, as `LinearLoops.margins` has them.

All NaN where a loop is not to be had here. Releases the GIL.
)")
        .def("nearest", &Desk::nearest, nb::arg("rests").noconvert(), nb::arg("update"), nb::arg("exact"), nb::arg("first"),
             nb::arg("last"), nb::arg("simd").none() = nb::none(),
             "The smallest |1 + L| of each of them, in a row; NaN likewise. Releases the GIL.")
        .def("unstable", &Desk::unstable, nb::arg("rests").noconvert(), nb::arg("update"), nb::arg("exact"), nb::arg("first"),
             nb::arg("last"), nb::arg("simd").none() = nb::none(),
             R"(How many modes of the closed loop of each of them grow, in a row.

-1: it is on the boundary; NaN likewise. Releases the GIL.
)")
        .def("response", &Desk::response, nb::arg("rests").noconvert(), nb::arg("update"), nb::arg("exact"),
             nb::arg("w").noconvert(), nb::arg("simd").none() = nb::none(),
             R"(L(jw) of all of them at frequencies w (rad/s): rows of real and imaginary part in turns.

NaN likewise. Releases the GIL.
)");
}
