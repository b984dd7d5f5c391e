// Laws as Python makes them for runs, of their tapes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "binding/arguments.h"
#include "laws/traced.h"

namespace binding {

// A function of a law as a tape: native/laws/tape.h.
class Tape {
  public:
    Tape(int inputs, int parameters, Numbers constants, const std::vector<std::array<std::int32_t, 4>> &rows,
         std::vector<std::int32_t> outputs, int sides);
    Tape(const Tape &) = delete;

    Numbers run(const Numbers &in, const Numbers &parameters, const std::optional<std::vector<int>> &sides) const;
    Described bound(const Numbers &parameters) const;
    Numbers run_generated(const Numbers &in, const Numbers &parameters, const std::optional<std::vector<int>> &sides) const;

    pi2_tape tape = {};

  private:
    Numbers run_as(const pi2_tape &as, const Numbers &in, const Numbers &parameters,
                   const std::optional<std::vector<int>> &sides) const;

    Numbers constants;
    std::vector<pi2_tape_row> rows;
    std::vector<std::int32_t> outputs;
};

// A tape whose parameters are given.
struct Bound {
    Bound(const Tape &from, const Numbers &parameters);
    Bound(const Bound &) = delete;

    pi2_tape tape = {};

  private:
    Numbers constants;
    std::vector<pi2_tape_row> rows;
    std::vector<std::int32_t> outputs;
};

using Tapes = Told<Dict<Tape>>;

class SenderLaw {
  public:
    SenderLaw(const std::string &name, const Tapes &tapes, const Numbers &numbers, int states,
              const Told<Dict<double>> &plain);
    SenderLaw(const SenderLaw &) = delete;

    Numbers rate(Numbers x, Numbers x_delayed, double signal_delayed, double rtt, double rtt_delayed) const;
    // The change of every state, and the cut apart from it.
    std::pair<Numbers, double> acked(Numbers x, double acks, double marks, double rtt) const;
    double sending_rate(Numbers x, double rtt) const;
    double sending_rate_under(Numbers x, double signal_delayed, double rtt) const;
    Numbers leave_slow_start(Numbers x) const;
    int comparisons() const { return law->comparisons; }
    bool has_ack_clock() const { return law->acked != nullptr; }

    const pi2_sender_law *law;
    const void *parameters;

  private:
    std::string label;
    std::deque<Bound> bound;
    pi2_traced_sender traced = {};
};

// What a queue sees, by the names of the struct in native/laws/aqm.h.
using Seen = Told<std::map<std::string, std::variant<double, std::pair<double, double>>>>;

class AqmLaw {
  public:
    AqmLaw(const std::string &name, const Tapes &tapes, const Numbers &numbers, int bands, bool flows,
           const Described &plain);
    AqmLaw(const AqmLaw &) = delete;

    int comparisons() const { return law->comparisons; }
    Numbers initial() const;
    Numbers update(const Numbers &state, const Seen &seen, double dt) const;
    Numbers flow(const Numbers &state, const Seen &seen, double d_queue_delay) const;
    Numbers drift(const Numbers &state, const Seen &seen) const;
    Numbers saturate(const Numbers &state) const;
    double controller(const Numbers &state) const;
    std::pair<double, double> encode(double u) const;
    std::pair<double, double> signals(const Numbers &state, const Seen &seen) const;
    std::pair<double, double> serve(std::pair<bool, bool> backlogged, std::pair<double, double> arrivals,
                                    double capacity) const;

    const pi2_aqm_law *law;
    const void *parameters;

  private:
    static pi2_seen see(const Seen &seen);
    Numbers full(const Numbers &state) const;
    template <typename F> Numbers moved(const Numbers &state, F move) const;

    double start[PI2_AQM_STATES] = {};
    int states = 0;
    std::string label;
    std::deque<Bound> bound;
    pi2_traced_aqm traced = {};
};

// Objects of Python that a run reads from while it lasts.
using Kept = std::vector<nanobind::object>;

// A law of a dict, which is kept.
template <typename Law> const Law &law_of(const Entries &e, const char *name, Kept &kept)
{
    const Law *law;
    if (!nanobind::try_cast<const Law *>(e[name], law) || !law)
        refuse(e.what + " " + name + " is no law of the kernel.");
    kept.push_back(nanobind::borrow(e[name]));
    return *law;
}

} // namespace binding

void register_laws(nanobind::module_ &module);
