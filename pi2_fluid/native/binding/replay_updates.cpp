// Part of pi2_fluid._core: parts of the queue disciplines pi, pi2, coupled and pie, fed by hand, and any discipline
// driven packet by packet, for tests.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "binding/arguments.h"
#include "binding/replay_updates.h"
extern "C" {
#include "packet/queues/pi_controller.h"
#include "packet/queues/pie.h"
}

namespace nb = nanobind;
using namespace binding;

namespace {

constexpr std::int64_t MTU = 1514; // bytes, Ethernet's header included
constexpr double CAPACITY = 1e9;   // bit/s

// The arrays of one call are as long as its first.
template <typename First, typename... Arrays> std::size_t length(const First &first, const Arrays &...arrays)
{
    const std::size_t size = first.shape(0);
    require(((arrays.shape(0) == size) && ...), "the arrays have different lengths.");
    return size;
}

// A discipline on a queue of its own.
class Discipline {
  public:
    Discipline(const std::string &name, const Parameters &parameters, std::int64_t limit, std::int64_t mtu,
               double capacity = CAPACITY)
        : discipline(named(pi2_find_qdisc(name.c_str()), name, "queue discipline"))
    {
        double numbers[PI2_QDISC_PARAMETERS];
        read_parameters(discipline, parameters, numbers);
        block = std::make_unique<std::max_align_t[]>(discipline->size / sizeof(std::max_align_t) + 1);
        queue.limit = limit;
        queue.mtu = mtu;
        queue.capacity = capacity;
        queue.counts = counts;
        require_sound(discipline->setup(block.get(), numbers, &queue), name);
        for (pi2_band &band : queue.band)
            if (!pi2_band_grow(&band))
                throw std::bad_alloc();
    }

    Discipline(const Discipline &) = delete;
    Discipline &operator=(const Discipline &) = delete;

    ~Discipline()
    {
        for (pi2_band &band : queue.band)
            std::free(band.ring);
        if (discipline->close)
            discipline->close(block.get());
    }

    void *state() const { return block.get(); }
    const pi2_qdisc *table() const { return discipline; }
    pi2_queue *waiting() { return &queue; }

    // Each call has the random numbers given to it, or else those of the seed 0 and its own number.
    void enqueue(std::int64_t now, int bytes, int ecn, const std::vector<std::uint64_t> &draws, std::uint32_t flow)
    {
        pi2_draws source = numbers(draws, 0);
        pi2_packet packet = {};
        packet.bytes = static_cast<std::uint16_t>(bytes);
        packet.ecn = static_cast<std::uint8_t>(ecn);
        packet.segment = static_cast<std::uint32_t>(arrivals);
        packet.flow = flow;
        source.index = arrivals++;
        counts[PI2_SENT]++;
        discipline->enqueue(state(), &queue, &packet, now, &source);
        used = source.used;
    }

    using Packet = std::tuple<std::uint32_t, int, std::int64_t>;

    std::optional<Packet> dequeue(std::int64_t now, const std::vector<std::uint64_t> &draws)
    {
        pi2_draws source = numbers(draws, 2);
        pi2_packet packet;
        source.index = departures;
        const int some = discipline->dequeue(state(), &queue, &packet, now, &source);
        departures = source.index;
        used = source.used;
        if (!some)
            return std::nullopt;
        return Packet(packet.segment, static_cast<int>(packet.ecn), now - packet.enqueued);
    }

    std::optional<std::int64_t> first_tick() const
    {
        const std::int64_t at = pi2_first_tick(discipline, state());
        return at == PI2_NEVER ? std::nullopt : std::optional(at);
    }

    std::int64_t tick(std::int64_t now)
    {
        if (!discipline->tick)
            refuse(std::string(discipline->name) + " has no timer.");
        return discipline->tick(state(), &queue, now);
    }

    std::tuple<double, double, double> probe() const
    {
        pi2_probe seen;
        discipline->probe(state(), &queue, &seen);
        return {seen.controller, seen.classic, seen.scalable};
    }

    Many<int> counted() const
    {
        nb::list list;
        for (std::int64_t count : counts)
            list.append(count);
        return nb::tuple(list);
    }

    std::int64_t packets() const { return pi2_queue_packets(&queue); }
    std::int64_t bytes() const { return pi2_queue_bytes(&queue); }
    std::uint64_t drawn() const { return used; }
    double capacity() const { return queue.capacity; }
    void set_capacity(double bits)
    {
        require(bits > 0.0, "capacity must be positive.");
        queue.capacity = bits;
    }

  private:
    static pi2_draws numbers(const std::vector<std::uint64_t> &given, std::uint64_t stream)
    {
        pi2_draws source = {};
        source.key[0] = pi2_stream_key(0, stream);
        source.key[1] = pi2_stream_key(0, stream + 1);
        source.given = given.empty() ? nullptr : given.data();
        return source;
    }

    const pi2_qdisc *discipline;
    std::unique_ptr<std::max_align_t[]> block;
    pi2_queue queue = {};
    std::int64_t counts[PI2_CAUSES] = {};
    std::uint64_t arrivals = 0, departures = 0, used = 0;
};

// Updates

void update_pie(void *pie, std::int64_t delay, std::int64_t backlog, double &controller, double &classic,
                std::uint64_t &state, double &burst)
{
    pi2_pie_view view;
    pi2_pie_sample(pie, delay, backlog);
    pi2_pie_look(pie, &view);
    controller = view.probability;
    classic = std::min(view.probability, 1.0);
    state = view.p;
    burst = static_cast<double>(view.burst) * 1e-9;
}

void update_controller(Discipline &discipline, std::int64_t delay, std::int64_t backlog, double &controller,
                       double &classic, std::uint64_t &state)
{
    auto *c = static_cast<pi2_controller *>(discipline.state());
    pi2_probe seen;
    pi2_controller_sample(c, delay, backlog != 0);
    discipline.table()->probe(c, discipline.waiting(), &seen);
    controller = seen.controller;
    classic = seen.classic;
    state = pi2_controller_raw(c);
}

void replay_update(const std::string &name, const Parameters &parameters, const Line<const std::int64_t> &delay,
                   const Line<const std::int64_t> &backlog, const Line<double> &controller, const Line<double> &classic,
                   const Line<std::uint64_t> &state, const Line<double> &burst, double start, std::int64_t before)
{
    const std::size_t n = length(delay, backlog, controller, classic, state, burst);
    const bool pie = name == "pie";
    if (!pie && name != "pi" && name != "pi2" && name != "coupled")
        refuse("'" + name + "' has no update to replay.");
    Discipline discipline(name, parameters, 1, MTU);
    require(start >= 0.0 && start <= 1.0 && before >= 0, "the start is none of a controller.");
    if (pie)
        pi2_pie_hold(discipline.state(), start, before, 0);
    else
        pi2_controller_hold(static_cast<pi2_controller *>(discipline.state()), start, before);
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < n; i++)
        if (pie)
            update_pie(discipline.state(), delay.data()[i], backlog.data()[i], controller.data()[i],
                       classic.data()[i], state.data()[i], burst.data()[i]);
        else
            update_controller(discipline, delay.data()[i], backlog.data()[i], controller.data()[i],
                              classic.data()[i], state.data()[i]);
}

// One update per sample, exactly `elapsed` ns apart.
void replay_hpe(std::int64_t alpha, std::int64_t beta, std::int64_t coupling, std::int64_t target,
                std::int64_t elapsed, const Line<const std::int64_t> &delay, const Line<double> &controller,
                const Line<double> &classic, const Line<std::uint64_t> &state, const Line<std::uint64_t> &overload,
                double start, std::int64_t before)
{
    const std::size_t n = length(delay, controller, classic, state, overload);
    pi2_hpe_params params;
    pi2_hpe_vars vars = {};
    require_sound(alpha >= 0 && beta >= 0 && coupling >= 1 && target >= 1 && elapsed >= 0, "the queue");
    require(start >= 0.0 && start <= 1.0 && before >= 0, "the start is none of a controller.");
    pi2_hpe_setup(&params, alpha, beta, coupling, target);
    vars.p = static_cast<std::int64_t>(std::ldexp(start, 32) + 0.5);
    vars.before = before;
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < n; i++) {
        pi2_hpe_update(&params, &vars, delay.data()[i], static_cast<std::int64_t>(i + 1) * elapsed, elapsed);
        controller.data()[i] = std::ldexp(static_cast<double>(vars.p), -32);
        classic.data()[i] = controller.data()[i] * controller.data()[i];
        state.data()[i] = static_cast<std::uint64_t>(vars.p);
        overload.data()[i] = static_cast<std::uint64_t>(vars.overload);
    }
}

// Decisions

pi2_draws one_by_one(const std::uint64_t *given)
{
    pi2_draws draws = {};
    draws.given = given;
    return draws;
}

void replay_pie_drop(const Parameters &parameters, std::int64_t mtu, const Line<const double> &p,
                     const Line<const std::uint64_t> &rnd, const Line<const std::int64_t> &delay,
                     const Line<const std::int64_t> &burst, const Line<const std::int64_t> &backlog,
                     const Line<const double> &before, const Line<std::uint64_t> &used,
                     const Line<std::uint64_t> &drop, const Line<double> &sum)
{
    const std::size_t n = length(p, rnd, delay, burst, backlog, before, used, drop, sum);
    Discipline discipline("pie", parameters, 1, mtu);
    void *pie = discipline.state();
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < n; i++) {
        pi2_draws draws = one_by_one(rnd.data() + i);
        pi2_pie_view view;
        pi2_pie_hold(pie, p.data()[i], delay.data()[i], burst.data()[i]);
        if (!std::isnan(before.data()[i]))
            pi2_pie_accumulate(pie, before.data()[i]);
        drop.data()[i] = static_cast<std::uint64_t>(pi2_pie_judge(pie, backlog.data()[i], mtu, &draws));
        if (drop.data()[i])
            pi2_pie_dropped(pie);
        pi2_pie_look(pie, &view);
        used.data()[i] = draws.used;
        sum.data()[i] = std::ldexp(static_cast<double>(view.accumulated), -56);
    }
}

void replay_coupled_drop(const Parameters &parameters, const Line<const double> &u, const Line<const std::int64_t> &ecn,
                         const Line<const std::uint64_t> &first, const Line<const std::uint64_t> &second,
                         const Line<std::uint64_t> &used, const Line<std::uint64_t> &drop,
                         const Line<std::uint64_t> &mark)
{
    const std::size_t n = length(u, ecn, first, second, used, drop, mark);
    Discipline discipline("coupled", parameters, 1, MTU);
    auto *c = static_cast<pi2_controller *>(discipline.state());
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < n; i++) {
        const std::uint64_t given[] = {first.data()[i], second.data()[i]};
        pi2_draws draws = one_by_one(given);
        pi2_controller_hold(c, u.data()[i], 0);
        const int verdict = pi2_coupled_judge(c, static_cast<int>(ecn.data()[i]), &draws);
        used.data()[i] = draws.used;
        drop.data()[i] = verdict == PI2_DROP;
        mark.data()[i] = verdict == PI2_MARK;
    }
}

// Departures

void replay_leave(const Parameters &parameters, const Line<const std::int64_t> &now, const Line<const std::int64_t> &bytes,
                  const Line<const std::int64_t> &backlog, const Line<const std::int64_t> &waited,
                  const Line<std::int64_t> &count, const Line<std::int64_t> &delay,
                  const Line<std::uint64_t> &rate, const Line<std::int64_t> &burst)
{
    const std::size_t n = length(now, bytes, backlog, waited, count, delay, rate, burst);
    Discipline discipline("pie", parameters, 1, MTU);
    void *pie = discipline.state();
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < n; i++) {
        pi2_pie_view view;
        pi2_pie_leave(pie, bytes.data()[i], backlog.data()[i], waited.data()[i], now.data()[i]);
        pi2_pie_look(pie, &view);
        pi2_pie_rate(pie, count.data() + i, rate.data() + i);
        delay.data()[i] = view.delay;
        burst.data()[i] = view.burst;
    }
}

} // namespace

void register_replay_updates(nb::module_ &module)
{
    module.def("replay_update", &replay_update, nb::arg("name"), nb::arg("parameters"), nb::arg("delay").noconvert(),
               nb::arg("backlog").noconvert(), nb::arg("controller").noconvert(), nb::arg("classic").noconvert(),
               nb::arg("state").noconvert(), nb::arg("burst").noconvert(), nb::arg("start") = 0.0, nb::arg("before") = 0,
               R"(Update a controller at each delay (ns) and backlog (bytes); fills the last four arrays.

Releases the GIL.

Parameters
----------
name, parameters
    One of "pi", "pi2", "coupled", "pie", as pi2_fluid.engines.packet.laws gives them.
controller, classic, state, burst
    The variable, what Classic packets see, the kernel's integer, and what is left of PIE's
    burst allowance (s).
start, before
    The variable, and the delay (ns), before the first update.

Raises
------
ValueError
    Lengths differ, the name is another, or the parameters are not what they can be.
)");
    module.def("replay_hpe", &replay_hpe, nb::arg("alpha"), nb::arg("beta"), nb::arg("coupling"), nb::arg("target"),
               nb::arg("elapsed"), nb::arg("delay").noconvert(), nb::arg("controller").noconvert(),
               nb::arg("classic").noconvert(), nb::arg("state").noconvert(), nb::arg("overload").noconvert(),
               nb::arg("start") = 0.0, nb::arg("before") = 0,
               R"(Update HPE's PI2 at each delay (ns), `elapsed` ns apart; fills the last four arrays.

`alpha`, `beta`, `coupling` are in 1/256 (native/packet/queues/pi2_update.h), `target` is in ns; `start` and `before`
are p' and the delay (ns) before the first.
)");
    module.def("replay_pie_drop", &replay_pie_drop, nb::arg("parameters"), nb::arg("mtu"), nb::arg("p").noconvert(),
               nb::arg("rnd").noconvert(), nb::arg("delay").noconvert(), nb::arg("burst").noconvert(),
               nb::arg("backlog").noconvert(), nb::arg("before").noconvert(), nb::arg("used").noconvert(),
               nb::arg("drop").noconvert(), nb::arg("sum").noconvert(),
               R"(Let PIE judge packets: delays and allowances in ns, backlog in bytes; fills the last three.

`before` is the sum of probabilities that a packet meets, NaN: as the last packet left it.
)");
    module.def("replay_coupled_drop", &replay_coupled_drop, nb::arg("parameters"), nb::arg("u").noconvert(),
               nb::arg("ecn").noconvert(), nb::arg("first").noconvert(), nb::arg("second").noconvert(),
               nb::arg("used").noconvert(), nb::arg("drop").noconvert(), nb::arg("mark").noconvert(),
               "Let the coupled queue judge packets at p' = `u` with 64-bit numbers; fills the last three.");
    module.def("replay_leave", &replay_leave, nb::arg("parameters"), nb::arg("now").noconvert(),
               nb::arg("bytes").noconvert(), nb::arg("backlog").noconvert(), nb::arg("waited").noconvert(),
               nb::arg("count").noconvert(), nb::arg("delay").noconvert(), nb::arg("rate").noconvert(),
               nb::arg("burst").noconvert(),
               "Let packets leave PIE's queue: times in ns, sizes in bytes; fills the last four arrays.");
    nb::class_<Discipline>(module, "QueueDiscipline", R"(A queue discipline driven packet by packet, for tests: native/packet/queues/qdisc.h.

Times are in ns, the capacity of the link in bit/s. Random numbers are those given, one by one, or those of a seed. Packets are
numbered as they arrive.
)")
        .def(nb::init<const std::string &, const Parameters &, std::int64_t, std::int64_t, double>(), nb::arg("name"),
             nb::arg("parameters"), nb::arg("limit") = 1000, nb::arg("mtu") = 1500, nb::arg("capacity") = CAPACITY)
        .def("enqueue", &Discipline::enqueue, nb::arg("now"), nb::arg("bytes") = 1500, nb::arg("ecn") = 0,
             nb::arg("draws") = std::vector<std::uint64_t>(), nb::arg("flow") = 0)
        .def("dequeue", &Discipline::dequeue, nb::arg("now"), nb::arg("draws") = std::vector<std::uint64_t>(),
             "Number, ECN field and waiting time (ns) of the packet that the link takes.")
        .def("first_tick", &Discipline::first_tick)
        .def("tick", &Discipline::tick, nb::arg("now"),
             "Let the timer expire; returns when it does next.")
        .def("probe", &Discipline::probe,
             "The controller's variable, and what Classic and Scalable packets see.")
        .def_prop_ro("counts", &Discipline::counted,
             "As the enumeration in native/packet/core/packet.h.")
        .def_prop_ro("packets", &Discipline::packets)
        .def_prop_ro("bytes", &Discipline::bytes)
        .def_prop_ro("drawn", &Discipline::drawn,
             "Random numbers that the last call drew.")
        .def_prop_rw("capacity", &Discipline::capacity, &Discipline::set_capacity,
                     "At which the link serves now (bit/s).");
}
