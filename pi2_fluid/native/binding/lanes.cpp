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
#include "lanes/prepare.h"
#include "laws/operations.h"
#include "margins/closed/margins.h"

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
    require_names(nodes, NODES, "nodes");
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

// Memory that a problem points to.
struct Kept {
    std::vector<Rows<const double>> parameters;
    std::vector<std::vector<double>> constants;
    std::vector<std::vector<std::int32_t>> registers;
};

// A tape; whatever its rows are, the kernel stays within its registers.
pi2_lanes_tape tape_of(nb::handle item, const std::string &what, int inputs, int outputs, std::size_t runs, Kept &kept)
{
    const Entries e(item, what, {"parameters", "constants", "rows", "outputs"});
    kept.parameters.push_back(e.as<Rows<const double>>("parameters"));
    const Rows<const double> &parameters = kept.parameters.back();
    kept.constants.push_back(e.as<std::vector<double>>("constants"));
    const auto rows = e.as<std::vector<std::vector<std::int32_t>>>("rows");
    kept.registers.push_back(e.as<std::vector<std::int32_t>>("outputs"));
    const std::vector<std::int32_t> &results = kept.registers.back();
    pi2_lanes_tape tape = {};
    require_rows(parameters, parameters.shape(0), runs, (what + " parameters").c_str());
    const std::size_t first = static_cast<std::size_t>(inputs) + parameters.shape(0) + kept.constants.back().size();
    require(first + rows.size() <= PI2_LANES_REGISTERS, "a law needs more registers than lanes have.");
    const auto is_there = [](std::int32_t place, std::size_t end) {
        return place >= 0 && static_cast<std::size_t>(place) < end;
    };
    std::vector<std::int32_t> flat;
    for (const std::vector<std::int32_t> &row : rows) {
        require(row.size() == 4 && is_there(row[0], PI2_TAPE_CODES), "a row of a tape is no operation.");
        for (int k = 1; k <= pi2_lanes_operands(row[0]); k++)
            require(is_there(row[static_cast<std::size_t>(k)], first + flat.size() / 4), "a tape reads what is not there.");
        flat.insert(flat.end(), row.begin(), row.end());
    }
    require(results.size() == static_cast<std::size_t>(outputs), "a tape has too few or too many results.");
    for (const std::int32_t place : results)
        require(is_there(place, first + rows.size()), "a tape returns what is not there.");
    tape.inputs = inputs;
    tape.parameters = static_cast<int>(parameters.shape(0));
    tape.constants = static_cast<int>(kept.constants.back().size());
    tape.rows = static_cast<int>(rows.size());
    tape.outputs = outputs;
    tape.parameter = parameters.data();
    tape.constant = kept.constants.back().data();
    tape.output = results.data();
    kept.registers.push_back(std::move(flat));
    tape.row = kept.registers.back().data();
    return tape;
}

pi2_lanes_class class_of(nb::handle item, const std::string &what, int groups, std::size_t runs, Kept &kept)
{
    const Entries e(item, what, {"law", "group", "signal", "slow_start", "thinned", "states", "rate", "leave"});
    const int law = e.one_of("law", {"reno", "scalable", "cbr", "tape"}), constant = law == PI2_LANES_CBR;
    const auto group = static_cast<int>(e.whole("group", 0, groups - 1));
    const bool scalable = !e.is_none("signal") && e.one_of("signal", {"classic", "scalable"}) == 1;
    pi2_lanes_class class_ = {};
    class_.law = law;
    class_.group = group;
    class_.scalable = scalable;
    class_.slow_start = e.as<bool>("slow_start") && !constant;
    class_.thinned = e.as<bool>("thinned") && constant;
    class_.states = static_cast<int>(e.whole("states", 1, PI2_LANES_STATES));
    if (law == PI2_LANES_TAPED) {
        const int n = class_.states;
        class_.rate = tape_of(e["rate"], what + " rate", 2 * n + 3, n, runs, kept);
        class_.leave = tape_of(e["leave"], what + " leave", n, n, runs, kept);
        for (int j = 0; j < class_.rate.rows; j++)
            for (int k = 1; k <= pi2_lanes_operands(class_.rate.row[4 * j]); k++) {
                const int place = class_.rate.row[4 * j + k] - n;
                class_.reads |= place >= 0 && place < n ? 1u << place : 0u;
            }
        for (int j = 0; j < n; j++) {
            const int place = class_.rate.output[j] - n;
            class_.reads |= place >= 0 && place < n ? 1u << place : 0u;
        }
    }
    return class_;
}

void read_queue(nb::handle item, pi2_lanes_problem &p, Kept &kept)
{
    const Entries e(item, "queue",
                    {"states", "follows", "update", "flow", "drift", "saturate", "controller", "signals", "thin"});
    pi2_lanes_queue &q = p.queue;
    const int n = static_cast<int>(e.whole("states", 0, PI2_LANES_STATES)), sees = n + 5;
    const auto tape = [&](const char *name, int inputs, int outputs) {
        return e.is_none(name) ? pi2_lanes_tape{}
                               : tape_of(e[name], std::string("queue ") + name, inputs, outputs, p.runs, kept);
    };
    q.states = n;
    q.flows = !e.is_none("flow");
    q.drifts = !e.is_none("drift");
    p.follows = e.as<bool>("follows");
    q.update = tape("update", sees + 1, n);
    q.flow = tape("flow", sees + 1, n);
    q.drift = tape("drift", sees, n);
    q.saturate = tape("saturate", n, n);
    q.controller = tape("controller", n, 1);
    q.signals = tape("signals", sees, 2);
    q.thin = tape("thin", 1, 1);
    require(!e.is_none("controller") && !e.is_none("signals"), "a queue lacks its controller or its signals.");
    require(!q.flows || !e.is_none("saturate"), "a queue that flows lacks its clips.");
    require(p.continuous || !e.is_none("update"), "a queue that updates lacks its update.");
}

void fluid_lanes(const AllDescribed &classes, int groups, int events, int samples, bool continuous,
                 const std::string &encoder, const std::string &tuning, const std::vector<std::pair<double, double>> &table,
                 Told<Dict<double>> heuristics, Told<Described> queue, const Named<double> &numbers, const Named<std::int32_t> &nodes,
                 std::size_t depth, const Rows<double> &statistics, const Rows<double> &traces,
                 const std::optional<std::string> &simd)
{
    pi2_lanes_problem p = {};
    require(classes.size() >= 1 && classes.size() <= PI2_LANES_CLASSES, "there must be 1 to 32 classes.");
    require(groups >= 1 && groups <= PI2_LANES_CLASSES, "there must be 1 to 32 groups.");
    require(table.size() <= PI2_LANES_EDGES, "the gain table is too long.");
    require(events >= 0 && samples >= 0, "events and samples must not be negative.");
    require(depth >= 2 && depth <= (1u << 26) && (depth & (depth - 1)) == 0, "depth must be a power of two.");
    require_names(numbers, NUMBERS, "numbers");
    p.runs = numbers.at("h").shape(1);
    Kept kept;
    p.classes = static_cast<int>(classes.size());
    p.groups = groups;
    p.events = events;
    p.samples = samples;
    for (int i = 0; i < p.classes; i++) {
        p.class_[i] = class_of(classes[static_cast<std::size_t>(i)], "class " + std::to_string(i), groups, p.runs, kept);
        p.more_states += p.class_[i].states - 1;
    }
    p.continuous = continuous;
    p.encoder = place_of(encoder, {"linear", "square", "coupled", "tape"}, "encoder");
    p.follows = continuous;
    if (p.encoder == PI2_LANES_TAPED_QUEUE)
        read_queue(queue, p, kept);
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
    pi2_lanes_prepare(&p);

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
               nb::arg("heuristics"), nb::arg("queue").none(), nb::arg("numbers").noconvert(), nb::arg("nodes").noconvert(), nb::arg("depth"),
               nb::arg("statistics").noconvert(), nb::arg("traces").noconvert(), nb::arg("simd") = nb::none(),
               R"(Many trajectories of the fluid, one for each column of the rows in `numbers` and `nodes`.

Results are written into `statistics` and `traces`; all rows are as in native/lanes/problem.h.
Releases the GIL. Every instruction set gives the same bytes.

Parameters
----------
classes
    Of each class: law ("reno", "scalable", "cbr" or "tape"), group, signal ("classic",
    "scalable" or None), slow_start and thinned (bool), states (how many), and the tapes rate and
    leave, None unless the law is one: dicts of parameters (rows of one number for each run),
    constants, rows (a code and three registers) and outputs (registers).
groups, events, samples
    How many there are.
continuous, encoder, tuning, table, heuristics
    The queue: how its controller moves, what packets see of it ("linear", "square", "coupled"),
    the factor on its gains ("plain", "table", "root") with its falling edges, and PIE's cap,
    boost and decay. With the encoder "tape" it is the tapes of `queue`.
queue
    None, or states (how many), follows (whether signals change between two nodes), and the tapes
    update, flow, drift, saturate, controller, signals, thin; None for what it does not do.
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
