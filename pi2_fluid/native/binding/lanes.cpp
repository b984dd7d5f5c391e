// Part of pi2_fluid._core: many trajectories of the fluid, side by side.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/lanes.h"
#include "lanes/lanes.h"
#include "margins/margins.h"

namespace nb = nanobind;
using namespace binding;

namespace {

template <typename T> void require_rows(const Rows<T> &rows, std::size_t count, std::size_t runs, const char *name)
{
    if (rows.shape(0) != count || rows.shape(1) != runs)
        refuse(std::string(name) + " must have the shape (" + std::to_string(count) + ", "
               + std::to_string(runs) + ").");
}

// Rows of one number for each run, by their names in the kernel.
template <typename T> using Named = std::map<std::string, Rows<const T>>;

#define PI2_LANES_NAME(name, rows) #name,
const std::vector<std::string> NUMBERS = {PI2_LANES_NUMBERS(PI2_LANES_NAME)};
const std::vector<std::string> NODES = {PI2_LANES_NODES(PI2_LANES_NAME)};
#undef PI2_LANES_NAME

template <typename T>
const T *rows_of(const Named<T> &given, const char *name, int count, const pi2_lanes_problem &p)
{
    const Rows<const T> &rows = given.at(name);
    require_rows(rows, static_cast<std::size_t>(count), p.runs, name);
    return rows.data();
}

void read_rows(const Named<double> &numbers, const Named<std::int32_t> &nodes, pi2_lanes_problem &problem)
{
    pi2_lanes_problem *const p = &problem;
    require_names(numbers, NUMBERS, "numbers");
    require_names(nodes, NODES, "nodes");
    p->runs = numbers.at("h").shape(1);
    require(p->runs >= 1, "there must be a run.");
#define PI2_LANES_ROWS(name, rows) p->name = rows_of(numbers, #name, rows, *p);
    PI2_LANES_NUMBERS(PI2_LANES_ROWS)
#undef PI2_LANES_ROWS
#define PI2_LANES_ROWS(name, rows) p->name = rows_of(nodes, #name, rows, *p);
    PI2_LANES_NODES(PI2_LANES_ROWS)
#undef PI2_LANES_ROWS
}

// Whatever they were, the kernel would stay within its memory; but these it could not make sense of.
void require_nodes(const pi2_lanes_problem &p)
{
    for (std::size_t r = 0; r < p.runs; r++) {
        require(p.continuous || p.ticks[r] >= 1, "ticks must be at least 1.");
        require(p.first[r] >= 0 && p.first[r] < p.last[r] && p.last[r] <= (1 << 30), "first must come before last.");
    }
}

pi2_lanes_class class_of(nb::handle item, const std::string &what, int groups)
{
    const Entries e(item, what, {"law", "group", "signal", "slow_start", "thinned"});
    const int law = e.one_of("law", {"reno", "scalable", "cbr"}), constant = law == PI2_LANES_CBR;
    const auto group = static_cast<int>(e.whole("group", 0, groups - 1));
    const bool scalable = !e.is_none("signal") && e.one_of("signal", {"classic", "scalable"}) == 1;
    return {law, group, scalable, e.as<bool>("slow_start") && !constant, e.as<bool>("thinned") && constant};
}

void fluid_lanes(const AllDescribed &classes, int groups, int events, int samples, bool continuous,
                 const std::string &encoder, const std::string &tuning, const std::vector<std::pair<double, double>> &table,
                 Told<Dict<double>> heuristics, const Named<double> &numbers, const Named<std::int32_t> &nodes,
                 std::size_t depth, const Rows<double> &statistics, const Rows<double> &traces,
                 const std::optional<std::string> &simd)
{
    pi2_lanes_problem p = {};
    require(classes.size() >= 1 && classes.size() <= PI2_LANES_CLASSES, "there must be 1 to 32 classes.");
    require(groups >= 1 && groups <= PI2_LANES_CLASSES, "there must be 1 to 32 groups.");
    require(table.size() <= PI2_LANES_EDGES, "the gain table is too long.");
    require(events >= 0 && samples >= 0, "events and samples must not be negative.");
    require(depth >= 2 && depth <= (1u << 26) && (depth & (depth - 1)) == 0, "depth must be a power of two.");
    p.classes = static_cast<int>(classes.size());
    p.groups = groups;
    p.events = events;
    p.samples = samples;
    for (int i = 0; i < p.classes; i++)
        p.class_[i] = class_of(classes[static_cast<std::size_t>(i)], "class " + std::to_string(i), groups);
    p.continuous = continuous;
    p.encoder = place_of(encoder, {"linear", "square", "coupled"}, "encoder");
    p.tuning = place_of(tuning, {"plain", "table", "root"}, "tuning");
    p.edges = static_cast<int>(table.size());
    for (std::size_t j = 0; j < table.size(); j++) {
        p.edge[j] = table[j].first;
        p.factor[j] = table[j].second;
    }
    const Entries e(heuristics, "heuristics", {"cap", "boost", "decay"});
    p.cap = e.as<double>("cap");
    p.boost = e.as<double>("boost");
    p.decay = e.as<double>("decay");
    read_rows(numbers, nodes, p);
    const std::size_t m = classes.size(), rows = PI2_LANES_TRACES + 2 * m;
    require_rows(statistics, PI2_LANES_STATISTICS + m * PI2_LANES_CLASS_STATISTICS, p.runs, "statistics");
    require_rows(traces, static_cast<std::size_t>(samples) * rows, p.runs, "traces");
    require_nodes(p);
    const int level = simd_level(simd);

    const std::size_t aligned = 64 / sizeof(double);
    const std::unique_ptr<double[]> memory(new double[pi2_lanes_work(&p, depth) + aligned]);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
    double *const work = memory.get() + (64 - address % 64) % 64 / sizeof(double);
    nb::gil_scoped_release release;
    pi2_lanes(level, &p, depth, work, {statistics.data(), traces.data()});
}

Dict<std::vector<std::string>> fluid_lanes_rows()
{
#define PI2_LANES_NAME(NAME, name) #name,
    Dict<std::vector<std::string>> names{nb::dict()};
    names["statistics"] = std::vector<std::string>{PI2_LANES_STATISTIC(PI2_LANES_NAME)};
    names["classes"] = std::vector<std::string>{PI2_LANES_CLASS_STATISTIC(PI2_LANES_NAME)};
    names["traces"] = std::vector<std::string>{PI2_LANES_TRACE(PI2_LANES_NAME)};
#undef PI2_LANES_NAME
    return names;
}

} // namespace

void register_lanes(nb::module_ &module)
{
    module.def("fluid_lanes_rows", &fluid_lanes_rows,
               "Names of the rows that `fluid_lanes` fills: statistics, those of each class, and traces.");
    module.def("fluid_lanes", &fluid_lanes, nb::arg("classes"), nb::arg("groups"), nb::arg("events"),
               nb::arg("samples"), nb::arg("continuous"), nb::arg("encoder"), nb::arg("tuning"), nb::arg("table"),
               nb::arg("heuristics"), nb::arg("numbers").noconvert(), nb::arg("nodes").noconvert(), nb::arg("depth"),
               nb::arg("statistics").noconvert(), nb::arg("traces").noconvert(), nb::arg("simd") = nb::none(),
               R"(Many trajectories of the fluid, one for each column of the rows in `numbers` and `nodes`.

Results are written into `statistics` and `traces`; all rows are as in native/lanes/problem.h.
Releases the GIL. Every instruction set gives the same bytes.

Parameters
----------
classes
    Of each class: law ("reno", "scalable", "cbr"), group, signal ("classic", "scalable" or
    None), slow_start and thinned (bool).
groups, events, samples
    How many there are.
continuous, encoder, tuning, table, heuristics
    The queue: how its controller moves, what packets see of it ("linear", "square", "coupled"),
    the factor on its gains ("plain", "table", "root") with its falling edges, and PIE's cap,
    boost and decay.
numbers, nodes
    Contiguous rows of one number for each run, by their names in the header.
depth
    Nodes of the past to keep, a power of two.
statistics, traces
    Contiguous rows of one number for each run, written to.
simd
    An element of `simd_levels()`; None takes the first.

Raises
------
TypeError, ValueError
    An argument has another type or shape, or is out of range.
)");
}
