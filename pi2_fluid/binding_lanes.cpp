// Part of pi2_fluid._core: many trajectories of the fluid, side by side.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "binding_arguments.h"
#include "binding_lanes.h"
#include "kernel/fluid_lanes.h"
#include "kernel/margins.h"

namespace nb = nanobind;
using namespace binding;

namespace {

template <typename T> void require_rows(const Rows<T> &rows, std::size_t count, std::size_t runs, const char *name)
{
    if (rows.shape(0) != count || rows.shape(1) != runs)
        refuse(std::string(name) + " must have the shape (" + std::to_string(count) + ", "
               + std::to_string(runs) + ").");
}

// Whatever they were, the kernel would stay within its memory; but these it could not make sense of.
void require_nodes(const pi2_lanes_problem &p)
{
    const std::int32_t *ticks = p.nodes, *first = ticks + p.runs, *last = first + p.runs;
    for (std::size_t r = 0; r < p.runs; r++) {
        require(p.continuous || ticks[r] >= 1, "ticks must be at least 1.");
        require(first[r] >= 0 && first[r] < last[r] && last[r] <= (1 << 30), "first must come before last.");
    }
}

// law, group, whether it obeys the scalable signal, slow_start, thinned
using Class = std::tuple<std::string, int, bool, bool, bool>;

void fluid_lanes(const std::vector<Class> &classes, int groups, int events, int samples, bool continuous,
                 const std::string &encoder, const std::string &tuning, const std::vector<std::pair<double, double>> &table,
                 const std::tuple<double, double, double> &heuristics,
                 const Rows<const double> &numbers, const Rows<const std::int32_t> &nodes, std::size_t depth,
                 const Rows<double> &statistics, const Rows<double> &traces, const std::optional<std::string> &simd)
{
    pi2_lanes_problem p = {};
    require(!classes.empty() && classes.size() <= PI2_LANES_CLASSES, "there must be 1 to 32 classes.");
    require(groups >= 1 && groups <= PI2_LANES_CLASSES, "there must be 1 to 32 groups.");
    require(table.size() <= PI2_LANES_EDGES, "the gain table is too long.");
    require(events >= 0 && samples >= 0, "events and samples must not be negative.");
    require(depth >= 2 && depth <= (1u << 26) && (depth & (depth - 1)) == 0, "depth must be a power of two.");
    p.runs = numbers.shape(1);
    require(p.runs >= 1, "there must be a run.");
    p.classes = static_cast<int>(classes.size());
    p.groups = groups;
    p.events = events;
    p.samples = samples;
    for (int i = 0; i < p.classes; i++) {
        const auto &[law, group, scalable, slow_start, thinned] = classes[static_cast<std::size_t>(i)];
        require(group >= 0 && group < groups, "group is out of range.");
        const int kind = place_of(law, {"reno", "scalable", "cbr"}, "law"), constant = kind == PI2_LANES_CBR;
        p.class_[i] = {kind, group, scalable, slow_start && !constant, thinned && constant};
    }
    p.continuous = continuous;
    p.encoder = place_of(encoder, {"linear", "square", "coupled"}, "encoder");
    p.tuning = place_of(tuning, {"plain", "table", "root"}, "tuning");
    p.edges = static_cast<int>(table.size());
    for (std::size_t j = 0; j < table.size(); j++) {
        p.edge[j] = table[j].first;
        p.factor[j] = table[j].second;
    }
    std::tie(p.cap, p.boost, p.decay) = heuristics;
    p.numbers = numbers.data();
    p.nodes = nodes.data();
    const std::size_t m = classes.size(), rows = PI2_LANES_TRACES + 2 * m;
    require_rows(numbers, pi2_lanes_number_rows(&p), p.runs, "numbers");
    require_rows(nodes, pi2_lanes_node_rows(&p), p.runs, "nodes");
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

} // namespace

void register_lanes(nb::module_ &module)
{
    module.def("fluid_lanes", &fluid_lanes, nb::arg("classes"), nb::arg("groups"), nb::arg("events"),
               nb::arg("samples"), nb::arg("continuous"), nb::arg("encoder"), nb::arg("tuning"), nb::arg("table"),
               nb::arg("heuristics"), nb::arg("numbers").noconvert(), nb::arg("nodes").noconvert(), nb::arg("depth"),
               nb::arg("statistics").noconvert(), nb::arg("traces").noconvert(), nb::arg("simd") = nb::none(),
               "Statistics and samples of many trajectories, written into the last two arrays.");
}
