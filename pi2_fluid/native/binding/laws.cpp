// Part of pi2_fluid._core: laws by their tapes.
#include "binding/laws.h"

#include <algorithm>

namespace nb = nanobind;
using namespace binding;

namespace {

// Of a tape under a name, bound; without results if there is none.
pi2_tape bind(const Tapes &tapes, const char *name, const Numbers &numbers, std::deque<Bound> &bound)
{
    nb::dict all;
    if (!nb::try_cast<nb::dict>(tapes, all))
        refuse("tapes is no dict.");
    if (!all.contains(name))
        return {};
    const Tape *tape;
    if (!nb::try_cast<const Tape *>(all[name], tape) || !tape)
        refuse(std::string("tape ") + name + " is no tape.");
    bound.emplace_back(*tape, numbers);
    return bound.back().tape;
}

// So many inputs and results, as the law's functions have; none of results: it need not be there.
void require_shape(const pi2_tape &tape, int inputs, int outputs, const std::string &what)
{
    if (tape.inputs != inputs || tape.outputs != outputs)
        refuse(what + " takes " + std::to_string(tape.inputs) + " numbers and gives " + std::to_string(tape.outputs)
               + " instead of " + std::to_string(inputs) + " and " + std::to_string(outputs) + ".");
}

void require_room(int count, int most, const std::string &what)
{
    if (count < 1 || count > most)
        refuse(what + " = " + std::to_string(count) + " is outside [1, " + std::to_string(most) + "].");
}

} // namespace

Tape::Tape(int inputs, int parameters, Numbers given, const std::vector<std::array<std::int32_t, 4>> &lines,
           std::vector<std::int32_t> results, int sides)
    : constants(std::move(given)), outputs(std::move(results))
{
    require(inputs >= 0 && parameters >= 0 && sides >= 0, "a tape has fewer than 0 inputs, parameters or sides.");
    require(inputs + parameters <= PI2_TAPE_REGISTERS && constants.size() + lines.size() <= PI2_TAPE_REGISTERS,
            "a tape has too many registers.");
    for (const auto &[code, a, b, c] : lines)
        rows.push_back({code, a, b, c});
    tape = {inputs,
            parameters,
            static_cast<int>(constants.size()),
            static_cast<int>(rows.size()),
            static_cast<int>(outputs.size()),
            sides,
            constants.data(),
            rows.data(),
            outputs.data()};
    if (const char *wrong = pi2_tape_wrong(&tape))
        refuse(std::string("a tape ") + wrong + ".");
}

Numbers Tape::run(const Numbers &in, const Numbers &parameters, const std::optional<std::vector<int>> &sides) const
{
    return run_as(tape, in, parameters, sides);
}

Numbers Tape::run_generated(const Numbers &in, const Numbers &parameters,
                            const std::optional<std::vector<int>> &sides) const
{
    const Bound all(*this, parameters);
    require(all.tape.generated, "no C was generated for the tape.");
    return run_as(all.tape, in, parameters, sides);
}

Numbers Tape::run_as(const pi2_tape &as, const Numbers &in, const Numbers &parameters,
                     const std::optional<std::vector<int>> &sides) const
{
    Numbers out(outputs.size());
    require_count(in, tape.inputs, "the tape");
    require_count(parameters, tape.parameters, "the tape's law");
    std::vector<signed char> held;
    if (sides) {
        require(sides->size() == static_cast<std::size_t>(tape.sides), "sides has another length.");
        for (int side : *sides)
            held.push_back(side != 0);
        held.push_back(0);
    }
    pi2_tape_run(&as, in.data(), parameters.data(), sides ? held.data() : nullptr, out.data());
    return out;
}

Bound::Bound(const Tape &from, const Numbers &parameters)
    : constants(from.tape.parameters + from.tape.constants + from.tape.rows), rows(from.tape.rows),
      outputs(from.tape.outputs)
{
    if (from.tape.parameters)
        require_count(parameters, from.tape.parameters, "a law of tapes");
    pi2_tape_bind(&from.tape, parameters.data(), &tape, constants.data(), rows.data(), outputs.data());
}

Described Tape::bound(const Numbers &parameters) const
{
    const Bound all(*this, parameters);
    const pi2_tape &to = all.tape;
    nb::list lines;
    for (int i = 0; i < to.rows; i++)
        lines.append(nb::make_tuple(to.row[i].code, to.row[i].a, to.row[i].b, to.row[i].c));
    nb::dict described;
    described["constants"] = Numbers(to.constant, to.constant + to.constants);
    described["rows"] = lines;
    described["outputs"] = std::vector<int>(to.output, to.output + to.outputs);
    described["form"] = pi2_tape_form(&to);
    described["generated"] = to.generated != nullptr;
    return described;
}

SenderLaw::SenderLaw(const std::string &name, const Tapes &tapes, const Numbers &numbers, int states,
                     const Told<Dict<double>> &plain)
    : law(&traced.law), parameters(&traced), label(name)
{
    require_room(states, PI2_SENDER_STATES, "states");
    traced.law.name = label.c_str();
    traced.law.states = states;
    if (nb::len(nb::handle(plain))) {
        const Entries e(plain, label, {"decrease", "per_mark"});
        traced.law.plain = {1, e.as<double>("decrease"), e.as<double>("per_mark")};
    }
    traced.rate = bind(tapes, "rate", numbers, bound);
    traced.differences = bind(tapes, "differences", numbers, bound);
    traced.acked = bind(tapes, "acked", numbers, bound);
    traced.sending_rate = bind(tapes, "sending_rate", numbers, bound);
    traced.sending_rate_under = bind(tapes, "sending_rate_under", numbers, bound);
    traced.leave_slow_start = bind(tapes, "leave_slow_start", numbers, bound);
    require_shape(traced.rate, 2 * states + 3, states, label + " rate");
    require_shape(traced.differences, 2 * states + 3, traced.rate.sides, label + " differences");
    require_shape(traced.sending_rate, states + 1, 1, label + " sending_rate");
    require_shape(traced.leave_slow_start, states, states, label + " leave_slow_start");
    if (traced.acked.outputs)
        require_shape(traced.acked, states + 3, states + 1, label + " acked");
    if (traced.sending_rate_under.outputs)
        require_shape(traced.sending_rate_under, states + 2, 1, label + " sending_rate_under");
    require(traced.rate.sides <= PI2_TRACED_COMPARISONS, "a law compares too often.");
    pi2_make_traced_sender(&traced);
}

Numbers SenderLaw::rate(Numbers x, Numbers x_delayed, double signal_delayed, double rtt, double rtt_delayed) const
{
    Numbers slope(law->states);
    x.resize(law->states);
    x_delayed.resize(law->states);
    law->rate(parameters, x.data(), x_delayed.data(), signal_delayed, rtt, rtt_delayed, nullptr, slope.data());
    return slope;
}

std::pair<Numbers, double> SenderLaw::acked(Numbers x, double acks, double marks, double rtt) const
{
    Numbers change(law->states);
    x.resize(law->states);
    if (!law->acked)
        refuse(std::string(law->name) + " has no form by the clock of acknowledgements.");
    const double cut = law->acked(parameters, x.data(), acks, marks, rtt, change.data());
    return {change, cut};
}

double SenderLaw::sending_rate(Numbers x, double rtt) const
{
    x.resize(law->states);
    return law->sending_rate(parameters, x.data(), rtt);
}

double SenderLaw::sending_rate_under(Numbers x, double signal_delayed, double rtt) const
{
    x.resize(law->states);
    return law->sending_rate_under ? law->sending_rate_under(parameters, x.data(), signal_delayed, rtt)
                                   : law->sending_rate(parameters, x.data(), rtt);
}

Numbers SenderLaw::leave_slow_start(Numbers x) const
{
    x.resize(law->states);
    law->leave_slow_start(parameters, x.data());
    return x;
}

AqmLaw::AqmLaw(const std::string &name, const Tapes &tapes, const Numbers &numbers, int bands, bool flows,
               const Described &plain)
    : law(&traced.law), parameters(&traced), label(name)
{
    require_room(bands, 2, "bands");
    traced.law.name = label.c_str();
    traced.law.bands = bands;
    traced.flows = flows;
    if (nb::len(nb::handle(plain))) {
        const Entries e(plain, label, {"encoder", "alpha", "beta", "target", "update_interval", "limit", "k"});
        traced.law.plain = {place_of(e.as<std::string>("encoder"), {"", "square", "linear", "coupled"}, label + " encoder"),
                            e.as<double>("alpha"),
                            e.as<double>("beta"),
                            e.as<double>("target"),
                            e.as<double>("update_interval"),
                            e.as<double>("limit"),
                            e.as<double>("k")};
    }
    traced.initial = bind(tapes, "initial", numbers, bound);
    traced.slopes = bind(tapes, "slopes", numbers, bound);
    traced.signals = bind(tapes, "signals", numbers, bound);
    traced.differences = bind(tapes, "differences", numbers, bound);
    traced.saturate = bind(tapes, "saturate", numbers, bound);
    traced.controller = bind(tapes, "controller", numbers, bound);
    traced.update = bind(tapes, "update", numbers, bound);
    traced.encode = bind(tapes, "encode", numbers, bound);
    traced.serve = bind(tapes, "serve", numbers, bound);
    states = traced.initial.outputs;
    require_room(states, PI2_AQM_STATES, "states");
    const int watched = states + bands + 4, joint = watched + (flows ? 1 : 0);
    require_shape(traced.initial, 0, states, label + " initial");
    require_shape(traced.slopes, joint, states, label + " slopes");
    require_shape(traced.signals, joint, 2, label + " signals");
    require_shape(traced.differences, joint, traced.slopes.sides, label + " differences");
    require_shape(traced.saturate, states, states, label + " saturate");
    require_shape(traced.controller, states, 1, label + " controller");
    if (traced.update.outputs)
        require_shape(traced.update, watched + 1, states, label + " update");
    if (traced.encode.outputs)
        require_shape(traced.encode, 1, 2, label + " encode");
    if (traced.serve.outputs || bands == 2)
        require_shape(traced.serve, 5, 2, label + " serve");
    require(traced.slopes.sides == traced.signals.sides, "slopes and signals do not share their comparisons.");
    require(traced.slopes.sides <= PI2_TRACED_COMPARISONS, "a law compares too often.");
    pi2_make_traced_aqm(&traced);
    law->initial(parameters, start);
}

pi2_seen AqmLaw::see(const Seen &seen)
{
    const Entries e(seen, "seen", {"queue_delay", "queue", "arrival_rate", "capacity", "overflow"});
    const auto [classic, l4s] = e.as<std::pair<double, double>>("queue_delay");
    return {{classic, l4s}, e.as<double>("queue"), e.as<double>("arrival_rate"), e.as<double>("capacity"),
            e.as<double>("overflow")};
}

Numbers AqmLaw::full(const Numbers &state) const
{
    Numbers x(PI2_AQM_STATES);
    copy(state, x.data(), states, law->name);
    return x;
}

template <typename F>
Numbers AqmLaw::moved(const Numbers &state, F move) const
{
    Numbers to(PI2_AQM_STATES);
    move(full(state).data(), to.data());
    to.resize(states);
    return to;
}

Numbers AqmLaw::initial() const 
{
    return Numbers(start, start + states);
}

Numbers AqmLaw::update(const Numbers &state, const Seen &seen, double dt) const
{
    return moved(state, [&](const double *x, double *after) {
        const pi2_seen s = see(seen);
        law->update(parameters, x, &s, dt, after);
    });
}

Numbers AqmLaw::flow(const Numbers &state, const Seen &seen, double d_queue_delay) const
{
    return moved(state, [&](const double *x, double *slope) {
        const pi2_seen s = see(seen);
        if (!law->flow)
            refuse(std::string(law->name) + " has no continuous form.");
        law->flow(parameters, x, &s, d_queue_delay, nullptr, slope);
    });
}

Numbers AqmLaw::drift(const Numbers &state, const Seen &seen) const
{
    return moved(state, [&](const double *x, double *slope) {
        const pi2_seen s = see(seen);
        if (law->drift)
            law->drift(parameters, x, &s, nullptr, slope);
    });
}

Numbers AqmLaw::saturate(const Numbers &state) const
{
    return moved(state, [&](const double *x, double *after) {
        std::copy(x, x + states, after);
        law->saturate(parameters, after);
    });
}

double AqmLaw::controller(const Numbers &state) const
{
    return law->controller(parameters, full(state).data());
}

std::pair<double, double> AqmLaw::encode(double u) const
{
    if (!law->encode)
        refuse(std::string(law->name) + " has no controller.");
    const pi2_signal signal = law->encode(parameters, u);
    return {signal.classic, signal.scalable};
}

std::pair<double, double> AqmLaw::signals(const Numbers &state, const Seen &seen) const
{
    const pi2_seen s = see(seen);
    const pi2_signal signal = law->signals(parameters, full(state).data(), &s, nullptr);
    return {signal.classic, signal.scalable};
}

std::pair<double, double> AqmLaw::serve(std::pair<bool, bool> backlogged, std::pair<double, double> arrivals,
                                double capacity) const
{
    const int waits[2] = {backlogged.first, backlogged.second};
    const double rates[2] = {arrivals.first, arrivals.second};
    double served[2];
    if (!law->serve)
        refuse(std::string(law->name) + " has one queue.");
    law->serve(parameters, waits, rates, capacity, served);
    return {served[0], served[1]};
}

void register_laws(nb::module_ &module)
{
    nb::class_<Tape>(module, "Tape", R"(A function of a law as a line of operations (native/laws/tape.h).

Parameters
----------
inputs, parameters
    How many of each.
constants, rows, outputs, sides
    As of `laws.tape.Tape`.

Raises
------
ValueError
    If a row is none, or there are too many.
)")
        .def(nb::init<int, int, Numbers, const std::vector<std::array<std::int32_t, 4>> &, std::vector<std::int32_t>, int>(),
             nb::arg("inputs"), nb::arg("parameters"), nb::arg("constants"), nb::arg("rows"), nb::arg("outputs"),
             nb::arg("sides"))
        .def("run", &Tape::run, nb::arg("inputs"), nb::arg("parameters"), nb::arg("sides").none() = nb::none(),
             "Return the results; `sides` are held answers of its comparisons.")
        .def("run_generated", &Tape::run_generated, nb::arg("inputs"), nb::arg("parameters"),
             nb::arg("sides").none() = nb::none(), "The same by the C that was generated for it.")
        .def("bound", &Tape::bound, nb::arg("parameters"),
             R"(Return the tape with these parameters: what depends on them alone is a constant.

Returns
-------
dict
    constants, rows and outputs as the tape's, whose registers are [inputs | constants | rows];
    form (what it does but for its constants, as a number) and generated (whether it runs as C).
)");
    nb::class_<SenderLaw>(module, "SenderLaw", R"(A sender's law, by its tapes (native/laws/sender.h).

`tapes` has rate, differences, sending_rate and leave_slow_start, and may have acked and
sending_rate_under, with the inputs of `laws.tapes`; `numbers` are what tapes have as parameters;
`plain` has decrease and per_mark of a law that engines have inline, nothing of others.
)")
        .def(nb::init<const std::string &, const Tapes &, const Numbers &, int, const Told<Dict<double>> &>(),
             nb::arg("name"), nb::arg("tapes"), nb::arg("numbers"), nb::arg("states"), nb::arg("plain"))
        .def_prop_ro("comparisons", &SenderLaw::comparisons, "How many comparisons can hold their answers.")
        .def_prop_ro("has_ack_clock", &SenderLaw::has_ack_clock, "Whether it says what acknowledgements do to it.")
        .def("rate", &SenderLaw::rate, nb::arg("x"), nb::arg("x_delayed"), nb::arg("signal_delayed"), nb::arg("rtt"),
             nb::arg("rtt_delayed"))
        .def("acked", &SenderLaw::acked, nb::arg("x"), nb::arg("acks"), nb::arg("marks"), nb::arg("rtt"))
        .def("sending_rate", &SenderLaw::sending_rate, nb::arg("x"), nb::arg("rtt"))
        .def("sending_rate_under", &SenderLaw::sending_rate_under, nb::arg("x"), nb::arg("signal_delayed"), nb::arg("rtt"))
        .def("leave_slow_start", &SenderLaw::leave_slow_start, nb::arg("x"));
    nb::class_<AqmLaw>(module, "AqmLaw", R"(A queue's law, by its tapes (native/laws/aqm.h).

`tapes` has initial, slopes and signals (of a tape of both), differences, saturate and controller,
and may have update, encode and serve, with the inputs of `laws.tapes`; `numbers` are what tapes
have as parameters; `flows`: slopes are its flow, not its drift; `plain` has encoder ("square",
"linear", "coupled") and the numbers of a PI controller that engines have inline, nothing of others.

`seen` has queue_delay (s, of both bands), queue (packets), arrival_rate, capacity and overflow
(packets/s).
)")
        .def(nb::init<const std::string &, const Tapes &, const Numbers &, int, bool, const Described &>(),
             nb::arg("name"), nb::arg("tapes"), nb::arg("numbers"), nb::arg("bands"), nb::arg("flows"), nb::arg("plain"))
        .def_prop_ro("comparisons", &AqmLaw::comparisons, "How many comparisons can hold their answers.")
        .def("initial", &AqmLaw::initial)
        .def("update", &AqmLaw::update, nb::arg("state"), nb::arg("seen"), nb::arg("dt"))
        .def("flow", &AqmLaw::flow, nb::arg("state"), nb::arg("seen"), nb::arg("d_queue_delay"))
        .def("drift", &AqmLaw::drift, nb::arg("state"), nb::arg("seen"))
        .def("saturate", &AqmLaw::saturate, nb::arg("state"))
        .def("controller", &AqmLaw::controller, nb::arg("state"))
        .def("encode", &AqmLaw::encode, nb::arg("u"))
        .def("signals", &AqmLaw::signals, nb::arg("state"), nb::arg("seen"))
        .def("serve", &AqmLaw::serve, nb::arg("backlogged"), nb::arg("arrivals"), nb::arg("capacity"));
}
