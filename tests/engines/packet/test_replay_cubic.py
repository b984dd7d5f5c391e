"""Cubic and Reno packet by packet: the kernel's arithmetic row by row, and their mean windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import rows_of
from refusals import refused

from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import congestion_of
from pi2_fluid.engines.packet.replays.senders import replay_cubic
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError
from pi2_fluid.laws.senders.cbr import Cbr
from pi2_fluid.laws.senders.creno import CReno
from pi2_fluid.laws.senders.cubic import Cubic
from pi2_fluid.laws.senders.dctcp import Dctcp
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.laws.senders.scalable import Scalable

patient = settings(deadline=None)  # a loaded machine is no reason to fail
RENO = {"decrease": 0.5, "per_ack": 0.0}
LAWS = {"reno": Reno(), "cubic": Cubic(), "cubic3.18": Cubic(variant="linux3.18")}
MS = 1_000_000


def column(name: str, key: str) -> np.ndarray:
    return np.array([float(row[key]) for row in rows_of(name)])


# --- the kernel's arithmetic ----------------------------------------------------------------


def test_every_row_of_the_kernel_is_met_exactly():
    arguments = {
        key: column("packet_cubic.csv", key) for key in ("tcp_friendliness", "rtt_ms", "W", "t_s")
    }
    data = replay_cubic(**arguments)
    assert data.sizes == {"step": 540}
    for key in ("cwnd", "cnt", "tcp_cwnd", "K", "origin"):
        np.testing.assert_array_equal(data[key], column("packet_cubic.csv", key), key)
        assert data[key].dtype == np.int64
        assert data[key].attrs["units"]


def test_rows_in_any_grouping_are_the_same():
    whole = replay_cubic(rtt_ms=20.0, W=64, t_s=[0.1, 0.5, 1.0])
    single = [int(replay_cubic(rtt_ms=20.0, W=64, t_s=t).cwnd[0]) for t in (1.0, 0.5, 0.1)]
    back = replay_cubic(rtt_ms=20.0, W=64, t_s=[1.0, 0.5, 0.1])
    np.testing.assert_array_equal(whole.cwnd[::-1], single)
    np.testing.assert_array_equal(back.cwnd, single)
    assert replay_cubic(rtt_ms=[], W=64, t_s=[]).sizes == {"step": 0}


@pytest.mark.slow
@patient
@given(st.integers(3, 100_000))
def test_the_cube_root_is_within_a_fifth_of_a_percent(window):
    data = replay_cubic(rtt_ms=1000.0, W=window, t_s=60.0)
    climb = window - int(window * 717 / 1024)
    exact = 1024 * np.cbrt(climb * 1024 / 410)
    assert int(data.K[0]) == pytest.approx(exact, rel=2e-3, abs=1.0)


# --- mean windows under a fixed probability -------------------------------------------------


def response(kind: str, process: str, rtt_ms: float, p: float, dack: int, signals=400) -> float:
    name, parameters = congestion_of(LAWS[kind])
    return _core.mean_window(
        name,
        parameters,
        p=p,
        periodic=process == "periodic",
        rtt=round(rtt_ms * MS),
        per_ack=dack,
        window=10,
        grows_in_cwr=True,
        packets=round(1.25 * signals / p) + 50_000,
        warm_up=round(0.25 * signals / p) + 50_000 // 5,
    )


def rows(kinds: set[str], process: str, most_p: float = 1.0, least_p: float = 3e-5):
    """Rows of the recorded windows, as (kind, process, rtt, p, dack), window."""
    for row in rows_of("packet_windows.csv"):
        p, rtt = float(row["p"]), float(row["rtt_ms"])
        if row["cc"] in kinds and row["process"] == process and least_p <= p <= most_p:
            yield (row["cc"], process, rtt, p, int(row["dack"])), float(row["W"])


@pytest.mark.slow
def test_reno_under_periodic_signals():
    """The window is one orbit of integers; only where a run begins and ends differs: 0.1 %."""
    found = [(response(*key), window) for key, window in rows({"reno"}, "periodic", 1.0, 1e-5)]
    assert len(found) == 16
    ratio = np.divide(*np.array(found).T)
    assert abs(ratio - 1).max() < 1e-3


@pytest.mark.slow
def test_cubic_under_periodic_signals_where_it_is_like_reno():
    """The friendly estimate rules at short round-trip times, and pulls to an orbit of integers.

    12 of the 16 rows are met within 0.2 %, 14 within 3 %. Near p = 1e-3 (10 ms) the recorded orbit
    has a 5 % smaller window than those that any first window leads to here.
    """
    found = [
        (response(*key), window)
        for key, window in rows({"cubic"}, "periodic", 1e-3)
        if key[2] <= 10.0
    ]
    ratio = np.divide(*np.array(found).T)
    assert len(found) == 16
    assert (abs(ratio - 1) < 2e-3).sum() >= 12
    assert (abs(ratio - 1) < 0.03).sum() >= 14
    assert abs(ratio - 1).max() < 0.05


@pytest.mark.slow
def test_cubic_under_periodic_signals_in_general():
    """A cubic epoch gains what the next periodic signal takes: no pull to rest, so many orbits.

    First windows from 2 to 2000 segments lead to means up to 15 % apart, so that a row can be met
    no better than that; at 100 ms and p = 1e-3 all of them are larger than recorded, by 17 to 27 %.
    Half of the rows are met within 2 % from a first window of 10.
    """
    found = [(response(*key), window) for key, window in rows({"cubic"}, "periodic", 1e-3)]
    ratio = np.divide(*np.array(found).T)
    assert abs(ratio - 1).max() < 0.22
    assert np.median(abs(ratio - 1)) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["reno", "cubic", "cubic3.18"])
def test_independent_signals(kind):
    """Single runs of either side scatter by 10 %; on average the rows are met within 2 %."""
    found = [
        (response(*key), window)
        for key, window in rows({kind}, "bernoulli", 1e-2)
        # Linux 3.18 believes in 31/16 segments per acknowledgement where there is 1; the recorded
        # run has the true ratio.
        if not (kind == "cubic3.18" and key[4] == 1)
    ]
    ratio = np.divide(*np.array(found).T)
    assert abs(ratio - 1).max() < 0.12
    assert abs(ratio.mean() - 1) < 0.02


def test_the_old_counting_makes_windows_smaller():
    """Delayed acknowledgements halve the friendly estimate's growth: 1/sqrt(2) of the window."""
    new = response("cubic", "bernoulli", 10.0, 1e-4, 2)
    old = response("cubic3.18", "bernoulli", 10.0, 1e-4, 2)
    assert old / new == pytest.approx(0.71, abs=0.02)


# --- properties -----------------------------------------------------------------------------


senders = st.one_of(
    st.builds(Reno, decrease=st.floats(1e-3, 1.0)),
    st.builds(CReno, decrease=st.floats(1e-3, 1.0)),
    st.builds(
        Cubic,
        variant=st.sampled_from(["linux", "linux3.18"]),
        c=st.floats(1e-3, 1e3),
        decrease=st.floats(1e-3, 1.0),
        hystart=st.booleans(),
    ),
    st.builds(Scalable, per_mark=st.floats(1e-3, 1e3)),
    st.builds(Dctcp, gain=st.sampled_from([1.0, 1 / 16, 1 / 1024]), variant=st.just("linux")),
    st.builds(Dctcp, gain=st.floats(1e-3, 1.0), variant=st.just("rfc8257")),
)
# acked, marked, round-trip time, time since the last one, what happens besides
steps = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.booleans(),
        st.integers(MS, 200 * MS),
        st.integers(0, 100 * MS),
        st.sampled_from(["", "", "", "loss", "ecn", "timeout"]),
    ),
    max_size=60,
)


@pytest.mark.slow
@patient
@given(sender=senders, window=st.integers(2, 1000), steps=steps)
def test_windows_stay_within_bounds(sender, window, steps):
    """A segment per segment acknowledged at most, and one more from earlier; never below 2."""
    flow = _core.CongestionControl(*congestion_of(sender), window=window)
    no_reduction, now, least = flow.flags & 2, 0, 2
    for acked, marked, rtt, passed, event in steps:
        now += passed
        before = flow.cwnd
        flow.acknowledge(acked, int(marked), rtt, now)
        # What was saved up at a slower pace is given at once when the pace rises: one segment.
        assert flow.cwnd <= before + acked + 1
        assert flow.cwnd >= (least if no_reduction else before)
        before = flow.cwnd
        if event in {"loss", "ecn"}:
            after = flow.reduce(now, event == "ecn")
            assert 2 <= after <= max(before, 2)
            assert flow.cwnd == flow.ssthresh == after
            least = 2
        elif event == "timeout":
            flow.timeout()
            least = 1


@patient
@given(st.integers(2, 10_000), st.integers(1, 10_000))
def test_slow_start_ends_at_the_threshold(window, acked):
    flow = _core.CongestionControl("reno", RENO, window=window, ssthresh=window + 100)
    flow.acknowledge(acked, 0, MS, 0)
    if acked <= 100:
        assert flow.cwnd == window + acked
    else:
        assert flow.cwnd >= window + 100  # the rest counts for avoidance
        assert flow.cwnd <= window + 100 + (acked - 100) // (window + 100)


@pytest.mark.parametrize("per_ack", [1, 2, 3])
def test_reno_grows_a_segment_per_window(per_ack):
    flow = _core.CongestionControl("reno", RENO, window=30, ssthresh=2)
    for _ in range(30 // per_ack):
        assert flow.cwnd == 30
        flow.acknowledge(per_ack, 0, MS, 0)
    assert flow.cwnd == 31


@pytest.mark.parametrize("per_ack", [1, 2, 3])
def test_reno_that_counts_acknowledgements_grows_a_segment_per_window_of_them(per_ack):
    name, parameters = congestion_of(Reno(growth="per_ack"))
    flow = _core.CongestionControl(name, parameters, window=30, ssthresh=2)
    for _ in range(30):
        assert flow.cwnd == 30
        flow.acknowledge(per_ack, 0, MS, 0)
    assert flow.cwnd == 31
    starts = _core.CongestionControl(name, parameters, window=10, ssthresh=100)
    for _ in range(10):
        starts.acknowledge(per_ack, 0, MS, 0)
    assert starts.cwnd == 20


@pytest.mark.slow
def test_delayed_acknowledgements_halve_what_reno_per_ack_adds():
    """W sqrt(p), every 1000th packet signalled: as many segments per acknowledgement as divide it.

    The law's 1/sqrt(2) is that of the increase, 1/2; without delay the two are one.
    """
    feedback = {"p": 1e-3, "periodic": True, "rtt": 100 * MS, "window": 40, "grows_in_cwr": True}
    counts = {"packets": 400_000, "warm_up": 40_000, "seed": 1}
    found = {
        (growth, per_ack): _core.mean_window(
            *congestion_of(Reno(growth=growth)), per_ack=per_ack, **feedback, **counts
        )
        for growth in ("per_segment", "per_ack")
        for per_ack in (1, 2)
    }
    assert found["per_ack", 1] == found["per_segment", 1]
    assert found["per_ack", 2] / found["per_segment", 2] == pytest.approx(0.5**0.5, rel=0.02)


@pytest.mark.parametrize("window", [10, 30, 50, 70, 110, 1000])
def test_creno_keeps_seven_tenths(window):
    flow = _core.CongestionControl(*congestion_of(CReno()), window=window)
    assert flow.reduce(0, True) == window * 7 // 10


def start_up(hystart: bool, spacing: int, queueing: int) -> int:
    """Segments at which slow start ends, more than 4096 if it does not: rounds of 10 ms RTT."""
    name, parameters = congestion_of(Cubic(hystart=hystart))
    flow = _core.CongestionControl(name, parameters, window=10)
    begin, rtt = 0, 10 * MS
    while flow.cwnd < 4096:
        window = flow.cwnd
        for i in range(window):
            flow.acknowledge(1, 0, rtt + window * queueing, begin + i * spacing)
            if flow.ssthresh < 2**31 - 1:
                return flow.ssthresh
        begin += max(rtt, window * spacing)
    return flow.cwnd


def test_hystart_ends_on_a_long_train_or_on_delay():
    # A train of more than (10 + 1)/2 ms: 55 gaps of 100 us. The window has grown by the train.
    assert 55 <= start_up(True, 100_000, 0) <= 160
    # Delay grows by 50 us per segment in flight: 4 ms are 80 segments.
    assert 80 <= start_up(True, 0, 50_000) <= 200
    assert start_up(True, 0, 0) > 4096
    assert start_up(False, 100_000, 50_000) > 4096


def test_a_timeout_forgets_the_last_maximum():
    """Growth is then one segment per 20 at least, as for a new flow."""
    flow = _core.CongestionControl(*congestion_of(Cubic(hystart=False)), window=1000)
    flow.reduce(0, False)
    flow.timeout()
    for i in range(2000):
        flow.acknowledge(2, 0, 10 * MS, i * MS)
    assert flow.cwnd > flow.ssthresh == 700


# --- parameters and bad input ---------------------------------------------------------------


def test_congestion_of_every_sender():
    assert congestion_of(Reno()) == ("reno", RENO)
    assert congestion_of(CReno()) == ("reno", RENO | {"decrease": 0.3})
    per_ack = ("reno", RENO | {"per_ack": 1.0})
    assert congestion_of(Reno(growth="per_ack")) == per_ack
    assert congestion_of(Scalable()) == ("scalable", {"per_mark": 0.5})
    assert congestion_of(Dctcp()) == ("dctcp", {"gain": 0.0625, "fixed": 1.0, "old": 0.0})
    rfc = Dctcp(variant="rfc8257", gain=0.1)
    assert congestion_of(rfc) == ("dctcp", {"gain": 0.1, "fixed": 0.0, "old": 0.0})
    old = {"gain": 0.0625, "fixed": 1.0, "old": 1.0}
    assert congestion_of(Dctcp(variant="linux3.18")) == ("dctcp", old)
    linux = {"old": 0.0, "c": 0.4, "decrease": 0.3, "hystart": 1.0, "friendly": 1.0}
    assert congestion_of(Cubic()) == ("cubic", linux)
    older = Cubic(variant="linux3.18", hystart=False)
    assert congestion_of(older) == ("cubic", linux | {"old": 1.0, "hystart": 0.0})


class Mine(Reno):
    """A law of one's own."""


@pytest.mark.parametrize("law", [Mine(), Cbr(rate="1Mbit/s")], ids=["subclass", "cbr"])
def test_other_laws_are_refused(law):
    with pytest.raises(UnsupportedError, match=rf"{type(law).__name__} is a window law without"):
        congestion_of(law)


def test_gains_that_linux_lacks_are_refused():
    with pytest.raises(UnsupportedError, match=r"Dctcp gain = 0\.1 is none that Linux has"):
        congestion_of(Dctcp(gain=0.1))
    with pytest.raises(UnsupportedError, match=r"gain = 0\.000488281 is none"):
        congestion_of(Dctcp(gain=1 / 2048))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"rtt_ms": 0.5}, DomainError, r"rtt_ms = 0.5 lies outside \[1, 10000\]: give numbers"),
        ({"W": 1}, DomainError, r"W = 1 lies outside \[2, 100000\]"),
        ({"W": 20.5}, QuantityError, r"W = 20.5 is not a whole number"),
        ({"t_s": "soon"}, QuantityError, r"t_s = 'soon' is no number"),
        ({"t_s": [0.0, np.nan]}, QuantityError, r"t_s = .* is no number"),
        ({"t_s": [[0.0]]}, QuantityError, r"one-dimensional"),
        ({"t_s": [0.0, 61.0]}, DomainError, r"t_s = 61 lies outside \[0, 60\]"),
        ({"tcp_friendliness": 2}, DomainError, r"tcp_friendliness = 2 lies outside \[0, 1\]"),
        ({"W": [20, 30]}, QuantityError, r"different lengths, W 2, t_s 3: give as many"),
    ],
)
def test_bad_columns_are_refused(arguments, error, words):
    good = {"rtt_ms": 10.0, "W": 20, "t_s": [0.0, 1.0, 2.0]}
    with refused(error, match=words):
        replay_cubic(**(good | arguments))


def test_the_kernel_refuses_what_it_cannot_run():
    cubic = congestion_of(Cubic())[1]
    at, results = np.zeros(2, dtype=np.int64), np.zeros(10, dtype=np.int64)
    with pytest.raises(ValueError, match=r"'vegas' is not a congestion control"):
        _core.CongestionControl("vegas", {}, window=10)
    with pytest.raises(ValueError, match=r"reno lacks 'decrease', 'per_ack'\."):
        _core.CongestionControl("reno", {}, window=10)
    with pytest.raises(ValueError, match=r"window must lie in"):
        _core.CongestionControl("reno", RENO, window=0)
    with pytest.raises(ValueError, match=r"acked, marked or rtt out of range"):
        _core.CongestionControl("reno", RENO, window=10).acknowledge(1, 2, MS, 0)
    with pytest.raises(ValueError, match=r"room for 10 numbers"):
        _core.replay_cubic(cubic, 20, 10 * MS, at, results[:9])
    with pytest.raises(ValueError, match=r"window must lie in"):
        _core.replay_cubic(cubic, 1, 10 * MS, at, results)
    with pytest.raises(ValueError, match=r"rtt must lie in"):
        _core.replay_cubic(cubic, 20, 0, at, results)
    good: dict[str, Any] = {
        "p": 0.1,
        "periodic": True,
        "rtt": MS,
        "per_ack": 1,
        "window": 10,
        "grows_in_cwr": True,
        "packets": 100,
        "warm_up": 10,
    }
    for key, value in {"p": 0.0, "rtt": 0, "per_ack": 0, "window": 1, "warm_up": 100}.items():
        with pytest.raises(ValueError, match=rf"{key} "):
            _core.mean_window("reno", RENO, **(good | {key: value}))
