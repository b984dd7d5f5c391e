// Loops of several links as matrices over frequency: what they are, where they cross over, how many modes grow.
#include "binding/matrices.h"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "margins/search/counting.h"
#include "margins/search/loop.h"
#include "matrices/algebra.h"
#include "matrices/bound.h"
#include "matrices/crossings.h"
#include "matrices/sampled.h"

namespace nb = nanobind;
using namespace binding;

namespace {

using Column = Line<const double>;
using Numbers1 = Line<const std::int64_t>;
using Places = Rows<const std::int64_t>;
using Tables = Rows<const double>;
using Complex = std::complex<double>;
template <int Dimensions> using Curve = nb::ndarray<nb::numpy, Complex, nb::ndim<Dimensions>>;
using Line1 = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Crossovers = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Found = nb::typed<nb::tuple, Line1, Curve<2>, Crossovers, Crossovers>;

constexpr double PI = 3.14159265358979323846;
const std::vector<std::string> SAMPLING = {"interval", "rate", "counts", "units",   "delays",
                                           "square",   "cube", "far",    "updates", "degrees"};
constexpr std::size_t STATES = PI2_MATRIX_STATES, CLASS_NUMBERS = 2 * STATES * STATES + 4 * STATES + 2;
constexpr std::size_t COEFFICIENTS = PI2_CONTROLLER_COEFFICIENTS, CONTROLLER_NUMBERS = 2 * COEFFICIENTS + 3;

const std::vector<std::string> NAMES = {
    "delays",  "states",     "round_trips", "classes", "ahead",   "weight",      "delayed", "slopes", "acted_on", "waits",  "queues",
    "passing", "passing_at", "at_once",     "at_once_at", "controllers", "degrees", "open",   "closed",   "norms", "passes"};

int within(std::int64_t value, std::int64_t low, std::int64_t high, const char *name)
{
    if (value < low || value > high)
        refuse(std::string(name) + " has " + std::to_string(value) + ", outside [" + std::to_string(low) + ", "
               + std::to_string(high) + "].");
    return static_cast<int>(value);
}

std::vector<double> copied(const Tables &table, std::size_t rows, std::size_t columns, const char *name)
{
    if (table.shape(0) != rows || table.shape(1) != columns)
        refuse(std::string(name) + " must have " + std::to_string(rows) + " rows and " + std::to_string(columns)
               + " columns.");
    return std::vector<double>(table.data(), table.data() + rows * columns);
}

class MatrixLoop {
  public:
    MatrixLoop(Told<Described> given, double scale, Told<std::optional<Described>> sampling)
    {
        const Entries from(given, "a matrix loop", NAMES);
        const auto line = [&](const char *name) { return from.as<Column>(name); };
        const auto whole = [&](const char *name) { return from.as<Numbers1>(name); };
        const auto table = [&](const char *name, std::size_t rows, std::size_t columns) {
            return copied(from.as<Tables>(name), rows, columns, name);
        };
        const Column times = line("delays");
        delay.assign(times.data(), times.data() + times.shape(0));
        plant.delays = within(static_cast<std::int64_t>(delay.size()), 1, PI2_MATRIX_DELAYS, "delays");
        const Numbers1 states = whole("states"), trips = whole("round_trips"), waiting = whole("waits"),
                       signalling = whole("queues"), open = whole("open"), closed = whole("closed");
        const std::size_t n = states.shape(0), q = waiting.shape(0), l = signalling.shape(0);
        plant.classes = within(static_cast<std::int64_t>(n), 1, 1 << 16, "classes");
        plant.queues = within(static_cast<std::int64_t>(q), 1, PI2_MATRIX_ROWS, "queues");
        plant.links = within(static_cast<std::int64_t>(l), 1, plant.queues, "links");
        require(trips.shape(0) == n, "there must be a round-trip time of each class.");
        const std::vector<double> numbers = table("classes", n, CLASS_NUMBERS);
        for (std::size_t i = 0; i < n; i++) {
            pi2_matrix_class one = {};
            one.states = within(states(i), 0, PI2_MATRIX_STATES, "states");
            one.round_trip = within(trips(i), 0, plant.delays - 1, "round_trips");
            const double *at = numbers.data() + i * CLASS_NUMBERS;
            const auto take = [&](double *to, std::size_t count) {
                std::copy(at, at + count, to);
                at += count;
            };
            take(&one.a0[0][0], STATES * STATES);
            take(&one.a1[0][0], STATES * STATES);
            for (double *part : {one.b, one.e0, one.e1, one.c})
                take(part, STATES);
            take(&one.r, 1);
            take(&one.feed, 1);
            classes.push_back(one);
        }
        const Places before = from.as<Places>("ahead");
        require(before.shape(0) == n && before.shape(1) == q, "ahead must have a row for each class.");
        for (std::size_t i = 0; i < n * q; i++)
            ahead.push_back(within(before.data()[i], 0, plant.delays - 1, "ahead"));
        weight = table("weight", n, q);
        delayed = table("delayed", n, q);
        slopes = table("slopes", n, l);
        acted_on = table("acted_on", l, q);
        for (std::size_t i = 0; i < q; i++)
            waits.push_back(waiting(i) != 0);
        for (std::size_t i = 0; i < l; i++)
            queue.push_back(within(signalling(i), 0, plant.queues - 1, "queues"));
        passing = passed(line("passing"), from.as<Places>("passing_at"));
        at_once = passed(line("at_once"), from.as<Places>("at_once_at"));
        controllers = ratios(from.as<Tables>("controllers"), from.as<Places>("degrees"), l);
        plant.open = within(static_cast<std::int64_t>(open.shape(0)), 1, plant.links, "open");
        for (const Numbers1 &some : {open, closed})
            for (std::size_t i = 0; i < some.shape(0); i++)
                order.push_back(within(some(i), 0, plant.links - 1, "open and closed"));
        std::vector<int> each(order);
        std::sort(each.begin(), each.end());
        for (std::size_t i = 0; i < each.size(); i++)
            require(each[i] == static_cast<int>(i), "open and closed must name each link once.");
        require(each.size() == l, "open and closed must name each link once.");
        norms = table("norms", 4, n);
        passes = table("passes", q, q);
        require(scale > 0.0, "scale must be positive.");
        plant.scale = scale;
        point();
        if (!sampling.is_none())
            sample(sampling);
    }
    MatrixLoop(const MatrixLoop &) = delete;
    MatrixLoop &operator=(const MatrixLoop &) = delete;

    Curve<3> response(Column w) const { return matrices(w, curve()); }
    Curve<3> plant_at(Column w) const { return matrices(w, {respond<pi2_matrix_plant_at>, &plant, plant.links}); }

    Curve<1> characteristic(Column w, bool closed) const
    {
        std::vector<Complex> found(w.shape(0));
        const auto at = closed ? pi2_matrix_characteristic : pi2_matrix_open_characteristic;
        (void)at(&plant, w.shape(0), w.data(), reinterpret_cast<double *>(found.data()));
        return nb::cast<Curve<1>>(as_array(std::move(found), {w.shape(0)}));
    }

    double bound(double w) const { return pi2_matrix_bound(&sizes, w); }

    std::optional<int> count(double longest, double slow, bool closed) const
    {
        pi2_loop loop = {};
        loop.longest = longest;
        loop.slow = slow;
        const pi2_curve curve = {closed ? pi2_matrix_characteristic : pi2_matrix_open_characteristic, &plant};
        pi2_searching room = {};
        int found = 0;
        pi2_outcome outcome;
        {
            nb::gil_scoped_release release;
            outcome = pi2_count_right(&loop, &curve, pi2_matrix_degree(&plant, closed), &room, &found);
            pi2_path_free(&room.path);
            pi2_path_free(&room.spare);
        }
        if (outcome == PI2_NO_MEMORY)
            throw std::bad_alloc();
        if (outcome != PI2_DONE)
            return std::nullopt;
        return found == PI2_ON_CONTOUR ? -1 : found;
    }

    std::optional<int> count_sampled(double longest, double slow) const
    {
        require(sampled.plant != nullptr, "the loop is not sampled.");
        const double end = PI / sampled.interval, low = 1e-6 * std::min(slow, end);
        const pi2_curve curve = {pi2_sampled_characteristic, &sampled};
        pi2_path path = {}, spare = {};
        int found = 0;
        pi2_outcome outcome;
        {
            nb::gil_scoped_release release;
            outcome = pi2_path_grid(&path, low, end, std::min(0.4 / longest, end / 8.0), 1.0);
            if (outcome == PI2_DONE)
                outcome = pi2_path_follow(&path, &curve, &spare);
            if (outcome == PI2_DONE)
                outcome = pi2_path_turns(&path, nullptr, 0.0, &found);
            pi2_path_free(&path);
            pi2_path_free(&spare);
        }
        if (outcome == PI2_NO_MEMORY)
            throw std::bad_alloc();
        if (outcome != PI2_DONE)
            return std::nullopt;
        return found == PI2_ON_CONTOUR ? std::numeric_limits<int>::min() : found;
    }

    std::optional<Found> crossings(double turning, bool quiet) const
    {
        const double end = sampled.plant ? PI / sampled.interval : std::numeric_limits<double>::infinity();
        const pi2_matrix_search search = {curve(), pi2_matrix_bound, &sizes, turning, end};
        pi2_matrix_crossings found = {};
        pi2_loci_outcome outcome;
        {
            nb::gil_scoped_release release;
            outcome = pi2_find_matrix_crossings(&search, quiet, &found);
        }
        const std::size_t n = found.loci.n, rows = static_cast<std::size_t>(plant.open);
        std::vector<double> w(found.loci.w, found.loci.w + n);
        const auto *const values = reinterpret_cast<const Complex *>(found.loci.values);
        std::vector<Complex> loci(values, values + n * rows);
        const std::size_t gains = found.gains, phases = found.phases;
        std::vector<double> gain = columns(found.crossing, gains), phase = columns(found.crossing + gains, phases);
        pi2_matrix_crossings_free(&found);
        if (outcome == PI2_LOCI_NO_MEMORY)
            throw std::bad_alloc();
        if (outcome != PI2_LOCI_FOUND)
            return std::nullopt;
        return nb::cast<Found>(nb::make_tuple(as_array(std::move(w), {n}), as_array(std::move(loci), {n, rows}),
                                              as_array(std::move(gain), {gains, 3}),
                                              as_array(std::move(phase), {phases, 3})));
    }

    std::optional<double> nearest(Column w, bool fades) const
    {
        require(w.shape(0) > 1, "w must have two frequencies at least.");
        const pi2_matrices of = curve();
        double least = 0.0;
        pi2_loci_outcome outcome;
        {
            nb::gil_scoped_release release;
            outcome = pi2_nearest_to_singular(&of, fades, w.shape(0), w.data(), &least);
        }
        if (outcome == PI2_LOCI_NO_MEMORY)
            throw std::bad_alloc();
        return outcome == PI2_LOCI_FOUND ? std::optional<double>(least) : std::nullopt;
    }

  private:
    template <int (*at)(const pi2_matrix_plant *, std::size_t, const double *, number *)>
    static int respond(const void *of, std::size_t n, const double *w, number *values)
    {
        return at(static_cast<const pi2_matrix_plant *>(of), n, w, values);
    }

    static int respond_sampled(const void *of, std::size_t n, const double *w, number *values)
    {
        return pi2_sampled_response(static_cast<const pi2_sampled_matrix *>(of), n, w, values);
    }

    pi2_matrices curve() const
    {
        if (sampled.plant)
            return {respond_sampled, &sampled, plant.open};
        return {respond<pi2_matrix_response>, &plant, plant.open};
    }

    void sample(nb::handle given)
    {
        const Entries from(given, "sampling", SAMPLING);
        const std::size_t l = controllers.size();
        sampled.interval = from.as<double>("interval");
        sampled.rate = from.as<double>("rate");
        require(sampled.interval > 0.0 && sampled.rate > 0.0, "interval and rate must be positive.");
        const Numbers1 counting = from.as<Numbers1>("counts");
        const Column seen = from.as<Column>("units"), times = from.as<Column>("delays");
        require(counting.shape(0) == l && seen.shape(0) == l, "counts and units have one number of each link.");
        for (std::size_t i = 0; i < l; i++)
            counts.push_back(counting(i) != 0);
        units.assign(seen.data(), seen.data() + l);
        term_delay.assign(times.data(), times.data() + times.shape(0));
        square = copied(from.as<Tables>("square"), term_delay.size(), l * l, "square");
        cube = copied(from.as<Tables>("cube"), term_delay.size(), l * l, "cube");
        const Tables polynomials = from.as<Tables>("far");
        const std::size_t degrees = polynomials.shape(0);
        far = copied(polynomials, degrees, 2 * l * l, "far");
        updates = ratios(from.as<Tables>("updates"), from.as<Places>("degrees"), l);
        sampled.counts = counts.data();
        sampled.units = units.data();
        sampled.update = updates.data();
        sampled.terms = static_cast<int>(term_delay.size());
        sampled.delay = term_delay.data();
        sampled.square = square.data();
        sampled.cube = cube.data();
        sampled.degrees = static_cast<int>(degrees);
        sampled.far = reinterpret_cast<const number *>(far.data());
        sampled.plant = &plant;
    }

    static std::vector<pi2_matrix_controller> ratios(const Tables &given, const Places &degrees, std::size_t l)
    {
        const std::vector<double> rows = copied(given, l, CONTROLLER_NUMBERS, "controllers");
        require(degrees.shape(0) == l && degrees.shape(1) == 2, "degrees must have two numbers of each link.");
        std::vector<pi2_matrix_controller> found;
        for (std::size_t i = 0; i < l; i++) {
            pi2_matrix_controller one = {};
            one.top = within(degrees(i, 0), 0, COEFFICIENTS - 1, "degrees");
            one.bottom = within(degrees(i, 1), 0, COEFFICIENTS - 1, "degrees");
            const double *const at = rows.data() + i * CONTROLLER_NUMBERS;
            std::copy(at, at + COEFFICIENTS, one.numerator);
            std::copy(at + COEFFICIENTS, at + 2 * COEFFICIENTS, one.denominator);
            one.unit = at[2 * COEFFICIENTS];
            one.factor = at[2 * COEFFICIENTS + 1];
            one.lag = at[2 * COEFFICIENTS + 2];
            found.push_back(one);
        }
        return found;
    }

    static std::vector<double> columns(const pi2_matrix_crossing *found, std::size_t n)
    {
        std::vector<double> rows;
        for (std::size_t i = 0; i < n; i++)
            for (double value : {found[i].w, found[i].left, static_cast<double>(found[i].enters)})
                rows.push_back(value);
        return rows;
    }

    static Curve<3> matrices(const Column &w, const pi2_matrices &of)
    {
        const std::size_t n = w.shape(0), size = static_cast<std::size_t>(of.rows);
        std::vector<Complex> found(n * size * size);
        // A matrix without an inverse somewhere is no number there, as of NumPy's functions.
        for (std::size_t i = 0; i < n; i++)
            if (!of.at(of.of, 1, w.data() + i, reinterpret_cast<number *>(found.data() + i * size * size)))
                std::fill_n(found.begin() + static_cast<std::ptrdiff_t>(i * size * size), size * size, Complex(NAN, NAN));
        return nb::cast<Curve<3>>(as_array(std::move(found), {n, size, size}));
    }

    std::vector<pi2_passed> passed(const Column &values, const Places &places) const
    {
        require(places.shape(0) == values.shape(0) && places.shape(1) == 3, "what passes has three places each.");
        std::vector<pi2_passed> found;
        for (std::size_t i = 0; i < values.shape(0); i++)
            found.push_back({within(places(i, 0), 0, plant.queues - 1, "passing_at"),
                             within(places(i, 1), 0, plant.queues - 1, "passing_at"),
                             within(places(i, 2), 0, plant.delays - 1, "passing_at"), values(i)});
        return found;
    }

    void point()
    {
        plant.delay = delay.data();
        plant.cls = classes.data();
        plant.ahead = ahead.data();
        plant.weight = weight.data();
        plant.delayed = delayed.data();
        plant.slopes = slopes.data();
        plant.acted_on = acted_on.data();
        plant.waits = waits.data();
        plant.queue = queue.data();
        plant.passings = static_cast<int>(passing.size());
        plant.passing = passing.data();
        plant.leading = static_cast<int>(at_once.size());
        plant.at_once = at_once.data();
        plant.controller = controllers.data();
        plant.order = order.data();
        const double *const first = norms.data();
        const std::size_t n = classes.size();
        sizes = {&plant, first, first + n, first + 2 * n, first + 3 * n, passes.data()};
    }

    pi2_matrix_plant plant = {};
    pi2_matrix_sizes sizes = {};
    std::vector<double> delay, weight, delayed, slopes, acted_on, norms, passes;
    std::vector<pi2_matrix_class> classes;
    std::vector<int> ahead, waits, queue, order;
    std::vector<pi2_passed> passing, at_once;
    std::vector<pi2_matrix_controller> controllers, updates;
    pi2_sampled_matrix sampled = {};
    std::vector<int> counts;
    std::vector<double> units, term_delay, square, cube, far;
};

} // namespace

void register_matrices(nb::module_ &module)
{
    nb::class_<MatrixLoop>(module, "MatrixLoop", "A loop of several links by the rate clock.")
        .def(nb::init<Told<Described>, double, Told<std::optional<Described>>>(), nb::arg("given"), nb::arg("scale"),
             nb::arg("sampling").none() = nb::none(),
             R"(Take the numbers of `pi2_matrix_plant` and `pi2_matrix_sizes` by their names, and of a sampled loop those of
`pi2_sampled_matrix`.

Raises
------
ValueError
    If a name is missing or unknown, or a number or a shape is out of range.
)")
        .def("response", &MatrixLoop::response, nb::arg("w").noconvert(),
             "Return L(jw) of the open links, the others' loops closed: (n, open, open).")
        .def("plant", &MatrixLoop::plant_at, nb::arg("w").noconvert(), "Return G(jw): (n, links, links).")
        .def("characteristic", &MatrixLoop::characteristic, nb::arg("w").noconvert(), nb::kw_only(), nb::arg("closed"),
             "Return `matrix_characteristic` at jw with all loops closed, or all open.")
        .def("bound", &MatrixLoop::bound, nb::arg("w"), "Return an upper bound of all eigenvalues of L from w on.")
        .def("count", &MatrixLoop::count, nb::arg("longest"), nb::arg("slow"), nb::kw_only(), nb::arg("closed"),
             "Return how many modes grow, -1 on the boundary; None where the curve was not followed.")
        .def("count_sampled", &MatrixLoop::count_sampled, nb::arg("longest"), nb::arg("slow"),
             R"(Return how many zeros beyond those of `count` with open loops a sampled loop has outside the unit circle.

The smallest int if one is on it; None where the curve was not followed.
)")
        .def("crossings", &MatrixLoop::crossings, nb::arg("turning"), nb::kw_only(), nb::arg("quiet"),
             R"(Return w, the loci there as columns, and rows of gain and of phase crossovers; None where they are not safe.

Rows are the frequency (rad/s), the angle to -1 (rad) or minus ln of the size, and what `PhaseCrossing` says of modes.
)")
        .def("nearest", &MatrixLoop::nearest, nb::arg("w").noconvert(), nb::kw_only(), nb::arg("fades"),
             "Return the smallest singular value of I + L, 1 at most; None where it was not found.");
}
