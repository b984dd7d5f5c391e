"""DCTCP and the scalable sender packet by packet: the kernel's arithmetic, and mean windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import rows_of
from refusals import refused

from pi2_fluid import _core, packet
from pi2_fluid.engines.packet.laws import congestion_of
from pi2_fluid.engines.packet.replays.senders import replay_dctcp
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError
from pi2_fluid.laws.senders.dctcp import Dctcp
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.laws.senders.scalable import Scalable
from pi2_fluid.network.catalogue import named_scenario

patient = settings(deadline=None)  # a loaded machine is no reason to fail
RESULTS = ["alpha_before", "alpha_after", "ss10", "ss100", "ss1000"]
MS = 1_000_000


def vectors() -> dict[str, Any]:
    rows = rows_of("packet_dctcp.csv")
    numbers = {key: np.array([int(row[key]) for row in rows]) for key in rows[0] if key != "case"}
    return numbers | {"case": np.array([row["case"] for row in rows])}


# --- the kernel's arithmetic ----------------------------------------------------------------


@pytest.mark.parametrize("told_by", ["case", "round"])
def test_every_row_of_the_kernel_is_met_exactly(told_by):
    columns = vectors()
    arguments = {key: columns[key] for key in ("delivered", "ce", "alpha_before", told_by)}
    data = replay_dctcp(**arguments)
    assert data.sizes == {"step": 450}
    for key in RESULTS:
        np.testing.assert_array_equal(data[key], columns[key], key)
        assert data[key].dtype == np.int64
        assert data[key].attrs["units"]


def test_real_numbers_agree_where_the_integers_do_not_round_away():
    """RFC 8257 from each recorded alpha: each of the two terms is rounded by less than 1/1024."""
    columns = vectors()
    arguments = {key: columns[key] for key in ("delivered", "ce", "alpha_before")}
    steps = np.arange(len(columns["ce"]))
    real = replay_dctcp(**arguments, case=steps, sender=Dctcp(variant="rfc8257"))
    # Below 16/1024 the integers let alpha fall to 0.
    alive = columns["alpha_before"] >= 16
    assert alive.sum() > 250
    difference = (real.alpha_after - columns["alpha_after"]).to_numpy()[alive]
    assert abs(difference).max() <= 1.0
    for size in (10, 100, 1000):
        left = columns[f"ss{size}"][alive]
        np.testing.assert_allclose(real[f"ss{size}"][alive], left, atol=1 + size / 2048)


def test_real_trajectories_agree_within_two_percent():
    """Where alpha is far above the dead zone, in which each round's rounding piles up."""
    columns = vectors()
    arguments = {key: columns[key] for key in ("delivered", "ce", "alpha_before", "case")}
    real = replay_dctcp(**arguments, sender=Dctcp(variant="rfc8257"))
    cases = np.isin(columns["case"], ["from1_all", "from1_nomarks", "w7_onemark"])
    large = cases & (columns["alpha_after"] >= 280)
    assert large.sum() > 90
    np.testing.assert_allclose(real.alpha_after[large], columns["alpha_after"][large], rtol=0.02)


@pytest.mark.slow
@patient
@given(
    marks=st.lists(st.tuples(st.integers(1, 5000), st.floats(0.0, 1.0)), min_size=1, max_size=50),
    variant=st.sampled_from(["linux", "linux3.18", "rfc8257"]),
    alpha=st.integers(0, 1024),
)
def test_alpha_is_a_fraction_and_reductions_at_most_halve(marks, variant, alpha):
    delivered = [n for n, _ in marks]
    ce = [int(n * share) for n, share in marks]
    law = Dctcp(variant=variant)
    data = replay_dctcp(delivered=delivered, ce=ce, alpha_before=alpha, sender=law)
    assert (data.alpha_after >= 0).all()
    assert (data.alpha_after <= 1024).all()
    np.testing.assert_array_equal(data.alpha_before[1:], data.alpha_after[:-1])
    for size in (10, 100, 1000):
        assert (data[f"ss{size}"] >= size // 2).all()
        assert (data[f"ss{size}"] <= size).all()


def test_the_dead_zone_is_that_of_linux_alone():
    """A marked fraction below 1/64 of a window adds nothing to integers."""
    few: dict[str, Any] = {"delivered": [1000] * 200, "ce": [15] * 200, "alpha_before": 0}
    assert int(replay_dctcp(**few).alpha_after[-1]) == 0
    real = replay_dctcp(**few, sender=Dctcp(variant="rfc8257"))
    assert float(real.alpha_after[-1]) == pytest.approx(15 / 1000 * 1024, rel=1e-3)
    assert int(replay_dctcp(delivered=100, ce=0, alpha_before=15).alpha_after[0]) == 0


def test_alpha_of_linux_3_18_stays_at_fifteen():
    """Its `alpha - (alpha >> 4)`, window by window; without marks it ends where the shift is 0."""
    old = Dctcp(variant="linux3.18")
    expected, alpha = [], 1024
    delivered, ce = [1000] * 100, [0] * 80 + [15] * 10 + [100] * 10
    for n, marked in zip(delivered, ce, strict=True):
        alpha += -(alpha >> 4) + (marked << 6) // n
        expected.append(alpha)
    data = replay_dctcp(delivered=delivered, ce=ce, sender=old)
    np.testing.assert_array_equal(data.alpha_after, expected)
    assert expected[79] == expected[89] == 15  # a fraction below 1/64 adds nothing here, too
    assert list(data.ss1000[89:91]) == [1000 - (1000 * 15 >> 11), 1000 - (1000 * 21 >> 11)]
    assert int(replay_dctcp(delivered=100, ce=0, alpha_before=7, sender=old).alpha_after[0]) == 7
    coarse = replay_dctcp(
        delivered=[9] * 99, ce=[0] * 99, sender=Dctcp(gain=0.25, variant="linux3.18")
    )
    assert int(coarse.alpha_after[-1]) == 3  # 1/gain - 1


def test_linux_3_18_has_the_rows_of_linux_where_the_shift_is_not_0():
    columns = vectors()
    arguments = {key: columns[key] for key in ("delivered", "ce", "alpha_before")}
    data = replay_dctcp(
        **arguments, case=np.arange(len(columns["ce"])), sender=Dctcp(variant="linux3.18")
    )
    alive = columns["alpha_before"] >= 16
    np.testing.assert_array_equal(data.alpha_after[alive], columns["alpha_after"][alive])
    assert (data.alpha_after[~alive] >= columns["alpha_after"][~alive]).all()


def test_gain():
    data = replay_dctcp(delivered=100, ce=0, sender=Dctcp(gain=0.25))
    assert int(data.alpha_after[0]) == 768
    real = replay_dctcp(delivered=100, ce=0, sender=Dctcp(gain=0.1, variant="rfc8257"))
    assert float(real.alpha_after[0]) == pytest.approx(0.9 * 1024)


# --- mean windows ---------------------------------------------------------------------------


def mean_window(law, p: float, grows_in_cwr: bool, seed: int = 1) -> float:
    name, parameters = congestion_of(law)
    return _core.mean_window(
        name,
        parameters,
        p=p,
        periodic=False,
        rtt=100 * MS,
        per_ack=1,
        window=10,
        grows_in_cwr=grows_in_cwr,
        packets=4_000_000,
        warm_up=400_000,
        seed=seed,
    )


@pytest.mark.slow
def test_independent_marks():
    """Within 1 % where alpha is well above 0; its rare visits above 0 scatter by 8 % below.

    Periodic marks are no test: a pause of growth and the next mark lock into each other.
    """
    for row in rows_of("packet_dctcp_windows.csv"):
        p, window = float(row["p"]), float(row["W"])
        if row["process"] != "bernoulli":
            continue
        found = mean_window(Dctcp(), p, row["mode"] == "increase_during_cwr")
        assert found == pytest.approx(window, rel=0.01 if p >= 0.05 else 0.08), row


@pytest.mark.slow
def test_real_numbers_keep_the_window_near_its_law_where_integers_let_go():
    """Independent marks and pauses of growth leave 1.85/p of the law's 2/p, at any p."""
    for p in (0.3, 0.1, 0.05):
        real = mean_window(Dctcp(variant="rfc8257"), p, False)
        assert real == pytest.approx(mean_window(Dctcp(), p, False), rel=0.025)
    for p in (0.02, 0.01, 0.005):
        assert mean_window(Dctcp(variant="rfc8257"), p, False) * p == pytest.approx(1.82, abs=0.05)
        assert mean_window(Dctcp(), p, False) * p > 2.5


@pytest.mark.parametrize(
    ("per_mark", "p"),
    [(0.25, 0.01), (0.5, 0.01), (2.0, 0.01), (0.25, 0.05), (0.5, 0.05), (2.0, 0.05), (0.5, 0.2)],
)
def test_scalable_rests_where_its_law_does(per_mark, p):
    """1/(per_mark p), within 1.5 %; windows of a few segments grow less evenly and are larger."""
    rest = 1.0 / (per_mark * p)
    found = mean_window(Scalable(per_mark=per_mark), p, True)
    assert found == pytest.approx(rest, rel=0.015 if rest >= 39.0 else 0.07)


@pytest.mark.slow
def test_linux_3_18_keeps_the_balance_that_later_integers_lose():
    """One Cubic and one DCTCP flow, coupled, 40 Mbit/s and 10 ms: Cubic's rate over DCTCP's.

    Windows are about 50 segments and p_s is 4 %, where a later alpha visits 0.
    """
    scenario = named_scenario("pi2_coexistence_coupled")
    ratios = {}
    for variant in ("linux", "linux3.18", "rfc8257"):
        cubic, dctcp = scenario.flows
        flows = (cubic, replace(dctcp, sender=Dctcp(variant=variant)))
        runs = packet.simulate(replace(scenario, flows=flows, duration=65.0), seeds=12, bin=1.0)
        rates = runs.throughput.sel(time=slice(25.0, None)).mean("time").to_numpy()
        ratios[variant] = rates[:, 0] / rates[:, 1]
    assert ratios["linux"].max() < 0.4
    assert ratios["linux3.18"].min() > 0.6
    # A run scatters by 10 %, so the ratio of two means of 12 by 4 %, of which 12 % is three times.
    mean = {variant: found.mean() for variant, found in ratios.items()}
    assert mean["linux3.18"] == pytest.approx(mean["rfc8257"], rel=0.12)


@pytest.mark.parametrize("queue", ["coupled", "pie"])
def test_cubic_that_is_marked_is_the_control(queue):
    """ECN-Cubic beside Cubic, of the same runs: one law, so equal rates under either queue."""
    scenario = named_scenario(f"pi2_coexistence_{queue}")
    cubic = scenario.flows[0]
    flows = (cubic, replace(cubic, name="ecn", ecn=True))
    runs = packet.simulate(replace(scenario, flows=flows, duration=65.0), seeds=6, bin=1.0)
    later = runs.sel(time=slice(25.0, None))
    rates = later.throughput.mean("time").to_numpy()
    assert np.median(rates[:, 0] / rates[:, 1]) == pytest.approx(1.0, abs=0.15)
    marks, drops = (later[name].sum(("seed", "time")).to_numpy() for name in ("marks", "drops"))
    assert marks[0] == 0.0 < marks[1]
    assert drops[1] == 0.0 < drops[0]


# --- steps ----------------------------------------------------------------------------------


def test_a_loss_halves_whatever_alpha_is():
    for variant in ("linux", "rfc8257"):
        flow = _core.CongestionControl(*congestion_of(Dctcp(variant=variant)), window=100)
        for i in range(12_000):
            flow.acknowledge(1, 0, 10 * MS, i * MS, grows=False)
        assert flow.reduce(0, ecn=True) >= 97  # alpha has fallen
        assert flow.reduce(0, ecn=False) in {48, 49, 50}
    flow = _core.CongestionControl(*congestion_of(Scalable()), window=101)
    assert flow.reduce(0, ecn=False) == 50


def test_linux_3_18_answers_a_loss_as_a_mark():
    flow = _core.CongestionControl(*congestion_of(Dctcp(variant="linux3.18")), window=1000)
    assert flow.reduce(0, ecn=False) == 500  # alpha is 1 at first
    flow = _core.CongestionControl(*congestion_of(Dctcp(variant="linux3.18")), window=1000)
    for i in range(120_000):
        flow.acknowledge(1, 0, 10 * MS, i * MS, grows=False)
    assert flow.reduce(0, ecn=False) == 1000 - (1000 * 15 >> 11)


def test_the_first_reduction_of_dctcp_halves():
    flow = _core.CongestionControl(*congestion_of(Dctcp()), window=100)
    assert flow.reduce(0, ecn=True) == 50


def test_scalable_carries_parts_and_ends_slow_start():
    flow = _core.CongestionControl("scalable", {"per_mark": 0.4}, window=50)
    windows = []
    for i in range(5):
        flow.acknowledge(1, 1, 10 * MS, i * MS, grows=False)
        windows.append(flow.cwnd)
    assert windows == [50, 50, 49, 49, 48]
    assert flow.ssthresh == 48
    for i in range(1000):
        flow.acknowledge(1, 1, 10 * MS, i * MS, grows=False)
    assert flow.cwnd == 2
    # Nothing is owed at the floor: growth is felt at once.
    flow.acknowledge(2, 0, 10 * MS, MS)
    assert flow.cwnd == 3


def test_flags():
    flags = {
        name: _core.CongestionControl(*congestion_of(law), window=10).flags
        for name, law in {"reno": Reno(), "dctcp": Dctcp(), "scalable": Scalable()}.items()
    }
    assert flags == {"reno": 0, "dctcp": 1, "scalable": 3}


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"delivered": 0}, DomainError, r"delivered = 0 lies outside \[1, 2\.14748e\+09\]"),
        ({"ce": [1, 20]}, DomainError, r"ce\[1\] = 20 is more than delivered\[1\] = 10: give"),
        ({"ce": 0.5}, QuantityError, r"ce = 0\.5 is not a whole number"),
        ({"alpha_before": 2000}, DomainError, r"alpha_before = 2000 lies outside \[0, 1024\]"),
        ({"alpha_before": 0.5}, QuantityError, r"alpha_before = 0\.5 is not a whole number"),
        ({"case": ["a", "b", "c"]}, QuantityError, r"case has the shape \(3,\), delivered"),
        ({"sender": Reno()}, QuantityError, r"sender = Reno is not Dctcp"),
        ({"sender": Dctcp(gain=0.3)}, UnsupportedError, r"gain = 0\.3 is none that Linux has"),
    ],
)
def test_bad_columns_are_refused(arguments, error, words):
    good = {"delivered": [10, 10], "ce": [0, 1]}
    with refused(error, match=words):
        replay_dctcp(**(good | arguments))


def test_the_kernel_refuses_what_it_cannot_run():
    two, a, s = np.ones(2, dtype=np.int64), np.zeros(4), np.zeros(6, dtype=np.int64)
    parameters = congestion_of(Dctcp())[1]
    with pytest.raises(ValueError, match=r"ce must be as long as delivered"):
        _core.replay_dctcp(parameters, 0.0, two, two[:1], a, s)
    with pytest.raises(ValueError, match=r"alpha must lie in"):
        _core.replay_dctcp(parameters, 1025.0, two, two, a, s)
    with pytest.raises(ValueError, match=r"room for 4 numbers"):
        _core.replay_dctcp(parameters, 0.0, two, two, a[:3], s)
