// Part of pi2_fluid._core: the window algorithms of packets without a network, for replays and tests.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "binding/arguments.h"
#include "binding/replay_senders.h"
#include "packet/tcp/congestion/replay.h"

namespace nb = nanobind;
using namespace binding;

namespace {

constexpr std::uint32_t most_window = 1u << 30; // segments: room for growth in 32 bits

// An algorithm with its parameters.
struct Configured {
    const pi2_congestion *congestion;
    double parameters[PI2_CC_PARAMETERS] = {};

    Configured(const std::string &name, const Parameters &numbers)
        : congestion(named(pi2_find_congestion(name.c_str()), name, "congestion control"))
    {
        read_parameters(congestion, numbers, parameters);
    }
};

template <typename T> T *rows(const Line<T> &array, std::size_t count, std::size_t size)
{
    if (array.shape(0) < count * size)
        refuse("the results need room for " + std::to_string(count * size) + " numbers.");
    return array.data();
}

void replay_cubic(const Parameters &parameters, std::uint32_t window, std::int64_t rtt,
                  const Line<const std::int64_t> &at, const Line<std::int64_t> &results)
{
    const Configured cubic("cubic", parameters);
    const std::size_t n = at.shape(0);
    std::int64_t *to = rows(results, 5, n);
    require(window >= PI2_LEAST_WINDOW && window <= most_window, "window must lie in [2, 2^30] segments.");
    require(rtt >= 1000000 && rtt <= 3600000000000, "rtt must lie in [1e6, 3.6e12] ns.");
    nb::gil_scoped_release release;
    pi2_replay_cubic(reinterpret_cast<const pi2_cubic_parameters *>(cubic.parameters), window, rtt, n, at.data(), {to, to + n, to + 2 * n, to + 3 * n, to + 4 * n});
}

void replay_dctcp(const Parameters &parameters, double alpha, const Line<const std::int64_t> &delivered,
                  const Line<const std::int64_t> &ce, const Line<double> &alphas,
                  const Line<std::int64_t> &thresholds)
{
    const Configured dctcp("dctcp", parameters);
    const std::size_t n = delivered.shape(0);
    double *a = rows(alphas, 2, n);
    std::int64_t *s = rows(thresholds, 3, n);
    require(ce.shape(0) == n, "ce must be as long as delivered.");
    require(alpha >= 0.0 && alpha <= 1024.0, "alpha must lie in [0, 1024].");
    nb::gil_scoped_release release;
    pi2_replay_dctcp(reinterpret_cast<const pi2_dctcp_parameters *>(dctcp.parameters), alpha, n, delivered.data(), ce.data(), {a, a + n, s, s + n, s + 2 * n});
}

void replay_prague(const Parameters &parameters, std::uint32_t window, std::int64_t rtt,
                   const Line<const std::int64_t> &ce, const Line<double> &numbers, const Line<std::int64_t> &counts)
{
    const Configured prague("prague", parameters);
    const std::size_t n = ce.shape(0);
    double *x = rows(numbers, 3, n);
    std::int64_t *k = rows(counts, 4, n);
    require(window >= PI2_LEAST_WINDOW && window <= most_window, "window must lie in [2, 2^30] segments.");
    require(rtt >= 1000 && rtt <= 3600000000000, "rtt must lie in [1e3, 3.6e12] ns.");
    nb::gil_scoped_release release;
    pi2_replay_prague(reinterpret_cast<const pi2_prague_parameters *>(prague.parameters), window, rtt, n, ce.data(),
                      {x, x + n, x + 2 * n, k, k + n, k + 2 * n, k + 3 * n});
}

void replay_paganini(const Parameters &parameters, std::uint32_t window, const Line<const std::int64_t> &at,
                     const Line<const std::int64_t> &rtt, const Line<const std::int64_t> &ce,
                     const Line<const std::int64_t> &lost, const Line<double> &numbers, const Line<std::int64_t> &cwnd)
{
    const Configured paganini("paganini", parameters);
    const std::size_t n = rtt.shape(0);
    double *x = rows(numbers, 5, n);
    std::int64_t *k = rows(cwnd, 1, n);
    require(ce.shape(0) == n && lost.shape(0) == n, "ce and lost must be as long as rtt.");
    require(at.shape(0) == n || at.shape(0) == 0, "at must be as long as rtt, or empty.");
    require(window >= 1 && window <= most_window, "window must lie in [1, 2^30] segments.");
    for (std::size_t i = 0; i < n; i++)
        require(rtt.data()[i] >= 1000 && rtt.data()[i] <= 3600000000000, "rtt must lie in [1e3, 3.6e12] ns.");
    nb::gil_scoped_release release;
    pi2_replay_paganini(reinterpret_cast<const pi2_paganini_parameters *>(paganini.parameters), window, n,
                        at.shape(0) ? at.data() : nullptr, rtt.data(), ce.data(), lost.data(),
                        {x, x + n, x + 2 * n, x + 3 * n, x + 4 * n, k});
}

double mean_window(const std::string &name, const Parameters &parameters, double p, bool periodic, std::int64_t rtt,
                   std::uint32_t per_ack, std::uint32_t window, bool grows_in_cwr, std::uint64_t packets,
                   std::uint64_t warm_up, std::uint64_t seed)
{
    const Configured sender(name, parameters);
    require(p > 0.0 && p <= 1.0, "p must lie in (0, 1].");
    require(rtt >= 1 && per_ack >= 1 && per_ack <= 1024, "rtt must be at least 1 ns, per_ack in [1, 1024].");
    require(window >= PI2_LEAST_WINDOW && window <= most_window, "window must lie in [2, 2^30] segments.");
    require(warm_up < packets && packets <= (UINT64_C(1) << 40),
            "warm_up must be less than packets, and that at most 2^40.");
    nb::gil_scoped_release release;
    const pi2_feedback feedback = {p, periodic, rtt, per_ack, window, grows_in_cwr, packets, warm_up, seed};
    return pi2_mean_window(sender.congestion, sender.parameters, &feedback);
}

// One flow's window, moved by hand.
class CongestionControl {
  public:
    CongestionControl(const std::string &name, const Parameters &parameters, std::uint32_t window, std::uint32_t ssthresh)
        : sender(name, parameters)
    {
        require(window >= 1 && window <= most_window, "window must lie in [1, 2^30] segments.");
        w.cwnd = window;
        w.ssthresh = ssthresh;
        w.next = window;
        w.min_rtt = INT64_MAX;
        sender.congestion->begin(sender.parameters, state, &w, 0);
    }

    // An acknowledgement of new segments, some of them marked, whose round-trip time was `rtt` ns.
    void acknowledge(std::uint32_t acked, std::uint32_t marked, std::int64_t rtt, std::int64_t now, bool grows)
    {
        const pi2_congestion *c = sender.congestion;
        require(acked >= 1 && acked <= 1u << 20 && marked <= acked && rtt >= 0, "acked, marked or rtt out of range.");
        w.una += acked;
        w.next = w.una + w.cwnd;
        w.min_rtt = std::min(w.min_rtt, rtt);
        w.srtt = rtt;
        if (c->sample)
            c->sample(sender.parameters, state, &w, acked, rtt, now);
        if (c->marks)
            c->marks(sender.parameters, state, &w, acked, marked, now);
        if (grows)
            c->grow(sender.parameters, state, &w, acked, now);
    }

    std::uint32_t reduce(std::int64_t now, bool ecn)
    {
        w.prior_cwnd = w.cwnd;
        w.ssthresh = sender.congestion->ssthresh(sender.parameters, state, &w, now,
                                                 ecn ? PI2_BECAUSE_ECN : PI2_BECAUSE_LOSS);
        w.cwnd = w.ssthresh;
        w.counter = 0;
        return w.ssthresh;
    }

    void timeout()
    {
        if (sender.congestion->timeout)
            sender.congestion->timeout(sender.parameters, state);
        w.cwnd = 1;
        w.counter = 0;
    }

    std::uint32_t cwnd() const { return w.cwnd; }
    std::uint32_t ssthresh() const { return w.ssthresh; }
    unsigned flags() const { return sender.congestion->flags; }

  private:
    Configured sender;
    pi2_window w = {};
    alignas(8) unsigned char state[PI2_CC_STATE_BYTES] = {};
};

} // namespace

void register_replay_senders(nb::module_ &module)
{
    module.def("replay_cubic", &replay_cubic, nb::arg("parameters"), nb::arg("window"), nb::arg("rtt"),
               nb::arg("at").noconvert(), nb::arg("results").noconvert(),
               R"(CUBIC after one signal at time 0, acknowledged evenly for 2 segments each.

Parameters
----------
parameters
    As `pi2_fluid.engines.packet.laws.congestion_of` gives them; "friendly" may be 0.
window, rtt
    Window before the signal (segments), round-trip time (ns).
at
    Times, ns, rising; shape (n,).
results
    Filled with cwnd, cnt, friendly_cwnd, k and origin, n numbers of each; shape (5 n,).
)");
    module.def("replay_dctcp", &replay_dctcp, nb::arg("parameters"), nb::arg("alpha"),
               nb::arg("delivered").noconvert(), nb::arg("ce").noconvert(), nb::arg("alphas").noconvert(),
               nb::arg("thresholds").noconvert(),
               R"(DCTCP, window by window.

Parameters
----------
parameters
    As `pi2_fluid.engines.packet.laws.congestion_of` gives them.
alpha
    The first alpha, in 1/1024.
delivered, ce
    Segments of each window, and how many of them were marked; shape (n,).
alphas
    Filled with alpha before and after each window, in 1/1024; shape (2 n,).
thresholds
    Filled with the windows left by a reduction from 10, 100 and 1000 segments; shape (3 n,).
)");
    module.def("replay_prague", &replay_prague, nb::arg("parameters"), nb::arg("window"), nb::arg("rtt"),
               nb::arg("ce").noconvert(), nb::arg("numbers").noconvert(), nb::arg("counts").noconvert(),
               R"(Prague, acknowledgement by acknowledgement, from slow start.

Parameters
----------
parameters
    As `pi2_fluid.engines.packet.laws.congestion_of` gives them.
window, rtt
    Window at the beginning (segments), round-trip time (ns).
ce
    Whether each segment was marked (not 0); shape (n,).
numbers
    Filled with time (ns), the window with its fraction (segments) and alpha; shape (3 n,).
counts
    Filled with the next segment to be sent, cwnd, rounds after slow start and ssthresh (-1: none),
    n numbers of each; shape (4 n,).
)");
    module.def("replay_paganini", &replay_paganini, nb::arg("parameters"), nb::arg("window"),
               nb::arg("at").noconvert(), nb::arg("rtt").noconvert(), nb::arg("ce").noconvert(),
               nb::arg("lost").noconvert(), nb::arg("numbers").noconvert(), nb::arg("cwnd").noconvert(),
               R"(Paganini's source, acknowledgement by acknowledgement, one for each segment.

Parameters
----------
parameters
    As `pi2_fluid.engines.packet.laws.congestion_of` gives them.
window
    Window at the beginning (segments).
at
    Times (ns), not falling; empty: one after the other in the round-trip time over the window.
rtt, ce, lost
    Of each its round-trip time (ns), whether it was marked, and whether a loss was found before it
    (not 0); shape (n,).
numbers
    Filled with time (ns), the window and the one expected (segments), xi and the price (s), n of
    each; shape (5 n,).
cwnd
    Filled with the window in whole segments; shape (n,).
)");
    module.def("mean_window", &mean_window, nb::arg("name"), nb::arg("parameters"), nb::kw_only(), nb::arg("p"),
               nb::arg("periodic"), nb::arg("rtt"), nb::arg("per_ack"), nb::arg("window"), nb::arg("grows_in_cwr"),
               nb::arg("packets"), nb::arg("warm_up"), nb::arg("seed") = 1,
               R"(Mean window (segments) under signals at a fixed probability per packet, without a network.

A reaction at once, at most one per window of packets; no slow start, no timeouts. For tests.
)");
    nb::class_<CongestionControl>(module, "CongestionControl", "One flow's window, moved by hand, for tests.")
        .def(nb::init<const std::string &, const Parameters &, std::uint32_t, std::uint32_t>(), nb::arg("name"),
             nb::arg("parameters"), nb::arg("window"), nb::arg("ssthresh") = PI2_NO_THRESHOLD)
        .def("acknowledge", &CongestionControl::acknowledge, nb::arg("acked"), nb::arg("marked"), nb::arg("rtt"),
             nb::arg("now"), nb::arg("grows") = true)
        .def("reduce", &CongestionControl::reduce, nb::arg("now"), nb::arg("ecn"))
        .def("timeout", &CongestionControl::timeout)
        .def_prop_ro("cwnd", &CongestionControl::cwnd, "The window (segments).")
        .def_prop_ro("ssthresh", &CongestionControl::ssthresh, "The threshold of slow start (segments).")
        .def_prop_ro("flags", &CongestionControl::flags, "1: exact marks; 2: marks do not make it reduce.");
}
