"""Paganini's source acknowledgement by acknowledgement, against its rules written once more."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
import pytest
from refusals import refused

from pi2_fluid import _core
from pi2_fluid.engines.packet.laws import congestion_of
from pi2_fluid.engines.packet.replays.senders import replay_paganini
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError
from pi2_fluid.laws.senders.paganini import Paganini
from pi2_fluid.laws.senders.reno import Reno

MS = 1_000_000


def followed(law: Any, ce: Any, rtt: Any, lost: Any, window: float) -> list[tuple[float, ...]]:
    """Figure 3 in Python, a row after each acknowledgement: window, expected, xi, price."""
    m, t_s, ln_phi = law.bottlenecks or 1, law.interval, math.log(law.phi)
    register: deque[int] = deque(maxlen=int(law.window))
    cwnd = expected = float(window)
    xi, price, base, due, time = math.log(window), 0.0, rtt[0] * 1e-9, round(t_s * 1e9), 0.0
    rows = []
    for mark, ns, loss in zip(ce, rtt, lost, strict=True):
        time += ns / cwnd
        while due <= int(time + 0.5):
            before, price = price, 0.0
            if sum(register):
                n = len(register)
                price = -math.log(1.0 - min(sum(register), n - 0.5) / n) / ln_phi
            if law.static:
                x_max = law.max_rate / 8.0 / law.packet_size
                expected = x_max * base * math.exp(-law.alpha * price / (m * base))
            elif law.scheme == "window":
                added = law.beta * t_s * expected / base * law.k * (base / expected) ** law.fairness
                a, b = law.alpha / (m * base), law.beta * t_s / base
                below = 1.0 + (b + a) * price - a * before
                expected = (expected + added) / max(below, 0.5)
            else:
                wanted = law.k * (base / expected) ** law.fairness
                xi += law.beta / base * (wanted - price) * t_s
                expected = math.exp(xi - law.alpha * price / (m * base))
            expected = max(expected, 1.0)
            due += round(t_s * 1e9)
        register.append(mark)
        base = min(base, ns * 1e-9)
        if loss:
            cwnd = expected = max(cwnd / 2.0, 2.0)
            xi = math.log(cwnd) + law.alpha * price / (m * base)
        cwnd += min(max(expected - cwnd, -law.max_decrement), law.max_increment)
        rows.append((cwnd, expected, xi, price))
    return rows


LAWS = {
    "as published": Paganini(),
    "by windows": Paganini(scheme="window"),
    "few marks": Paganini(window=1, interval="1ms", phi=3.0),
    "many marks, two links": Paganini(window=128, bottlenecks=2, max_increment=0.1),
    "70 marks, slow to fall": Paganini(window=70, max_decrement=0.3, max_increment=5.0),
    "another utility": Paganini(fairness=2.0, k=2e3, alpha=0.8, beta=0.4),
    "static": Paganini(static=True, max_rate="8Mbit/s", packet_size="1000B"),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_every_step_is_that_of_the_rules(law: Paganini, rng: np.random.Generator) -> None:
    n = 1500
    rtt = np.rint(1e9 * rng.uniform(0.04, 0.042, n)).astype(np.int64)
    rtt[:300] += 3 * MS  # the smallest comes later
    ce = (rng.random(n) < np.repeat([0.02, 0.4, 1.0, 0.0, 0.2], n // 5)).astype(int)
    lost = np.zeros(n, dtype=int)
    lost[[200, 500, 501, 1200]] = 1
    data = replay_paganini(ce=ce, rtt=rtt / 1e9, lost=lost, initial_window=2, sender=law)
    found = np.array([data[name] for name in ("window", "expected", "xi", "price")])
    rows = np.array(followed(law, ce, rtt, lost, 2.0)).T
    by_xi = not law.static and law.scheme == "exponential"
    for name, mine, theirs in zip(("window", "expected", "xi", "price"), found, rows, strict=True):
        if name != "xi" or by_xi:
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12, err_msg=name)
    assert data.price.max() > 0.1
    np.testing.assert_array_equal(data.cwnd, np.floor(data.window))


def test_it_first_grows_by_beta_k_a_second_whatever_the_path() -> None:
    for rtt in (0.04, 0.2):
        data = replay_paganini(ce=np.zeros(300, dtype=int), rtt=rtt)
        late = data.sel(step=data.time > 0.2)
        assert float(late.expected[-1]) < 250.0
        slopes = np.diff(late.expected[[0, -1]]) / np.diff(late.time[[0, -1]])
        assert slopes[0] == pytest.approx(75.0, rel=0.05)


def test_a_register_full_of_marks_reads_half_a_segment_less() -> None:
    data = replay_paganini(ce=np.ones(200, dtype=int), rtt="40ms", initial_window=50)
    assert float(data.price[-1]) == pytest.approx(-math.log(0.5 / 31) / math.log(100.0), rel=1e-12)
    assert float(data.price[-1]) == pytest.approx(0.896, abs=1e-3)
    # the first update, after 6 segments
    first = float(data.price[np.flatnonzero(data.price)[0]])
    assert first == pytest.approx(-math.log(0.5 / 6) / math.log(100.0), rel=1e-12)
    assert float(data.expected[-1]) == pytest.approx(50 * 0.04 / 0.896, rel=1e-3)  # K tau / q


def test_times_may_be_given() -> None:
    same = replay_paganini(ce=[0, 1, 0, 0], rtt="10ms", initial_window=4)
    told = replay_paganini(ce=[0, 1, 0, 0], rtt="10ms", initial_window=4, time=same.time)
    np.testing.assert_array_equal(same.window, told.window)
    idle = replay_paganini(ce=[0, 0], rtt="10ms", time=[0.001, 1.0])
    assert float(idle.expected[-1]) == pytest.approx(75.0, rel=0.15)  # no less for being idle


def flow(window: int = 100) -> _core.CongestionControl:
    return _core.CongestionControl(*congestion_of(Paganini()), window=window)


def test_a_timeout_comes_back_by_a_segment_for_each_that_is_acknowledged() -> None:
    one = flow()
    one.acknowledge(1, 0, 100 * MS, MS)
    assert one.reduce(2 * MS, ecn=False) == 50
    one.timeout()
    one.acknowledge(30, 0, 100 * MS, 3 * MS)
    assert one.cwnd == 31
    one.acknowledge(30, 0, 100 * MS, 4 * MS)
    assert one.cwnd == 50


def test_a_window_below_two_is_not_halved() -> None:
    one = flow(window=3)
    assert one.reduce(MS, ecn=False) == 2
    assert one.flags == 3  # exact marks; nothing but its own rules reduces it


class Mine(Paganini):
    """Another law."""


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"ce": [0, 2]}, DomainError, r"ce = 2 is outside the whole numbers \[0, 1\]: give"),
        ({"ce": []}, QuantityError, r"ce is empty: give 0 or 1"),
        ({"rtt": 0.0}, DomainError, "^rtt = 0"),
        ({"time": [0.2, 0.1]}, DomainError, "^time falls"),
        ({"lost": [0, 3]}, DomainError, "^lost = 3 is outside"),
        ({"initial_window": 0}, DomainError, "^initial_window = 0 is outside"),
        ({"sender": Reno()}, QuantityError, "sender = Reno is not Paganini"),
        ({"sender": Mine()}, UnsupportedError, "^Mine "),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], error: Any, words: str) -> None:
    with refused(error, match=words):
        replay_paganini(**({"ce": [0, 1], "rtt": "10ms"} | arguments))


def test_the_kernel_refuses_what_it_cannot_run() -> None:
    two, none = np.full(2, 10 * MS, dtype=np.int64), np.empty(0, dtype=np.int64)
    zero, x = np.zeros(2, dtype=np.int64), np.zeros(10)
    parameters = congestion_of(Paganini())[1]
    for window, at, rtt, words in (
        (0, none, two, "window must lie in"),
        (1, two[:1], two, "at must be as long"),
        (1, none, zero, "rtt must lie in"),
    ):
        with pytest.raises(ValueError, match=words):
            _core.replay_paganini(parameters, window, at, rtt, zero, zero, x, np.zeros_like(two))
