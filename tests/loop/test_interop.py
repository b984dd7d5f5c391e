"""Loops in the hands of other libraries: python-control, JAX, notebooks, dates and fractions."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import control
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.units import validate_quantity

mpl.use("Agg")


@pytest.fixture(scope="module", params=["continuous", "delayed", "sampled"])
def loop(request: Any) -> pf.Loop:
    return pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, update=request.param)


# --- python-control -------------------------------------------------------------------------


@pytest.mark.slow
def test_what_control_does_with_frequency_responses(loop):
    data = loop.to_control()
    gm, pm, wcg, wcp = control.margin(data)
    # A spline between the frequencies.
    np.testing.assert_allclose([gm, pm, wcg, wcp], list(loop.margins()), rtol=1e-4)
    assert (data.dt == 0.032) if loop.update == "sampled" else (data.dt == 0)
    w = data.omega
    closed = control.feedback(data, 1)
    np.testing.assert_allclose(closed.frdata[0, 0], loop(1j * w) * loop.sensitivity(w), rtol=1e-9)
    assert control.bode_plot(data) is not None
    assert data.name == "Reno_Pi2"


def test_control_has_the_margins_of_a_loop_and_says_where_exact_ones_are(loop):
    with pytest.warns(UserWarning, match=r"ask loop\.margins\(\) for exact numbers"):
        found = control.margin(loop)
    np.testing.assert_allclose(found, list(loop.margins()), rtol=1e-4)  # of a spline
    magnitude, phase, w = (np.asarray(row) for row in _unpacked(loop))
    np.testing.assert_allclose(magnitude * np.exp(1j * np.radians(phase)), loop(1j * w), rtol=1e-12)


def _unpacked(loop):
    with pytest.warns(UserWarning, match="is unpacked to"):
        return tuple(loop)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (control.bode_plot, "or ask loop.bode()"),
        (control.nyquist_plot, "or ask loop.nyquist()"),
        (control.poles, "or ask loop.roots(5)"),
        (control.damp, "or ask loop.roots(5)"),
        (control.nichols_plot, "give it loop.to_control()."),
        (lambda loop: control.frequency_response(loop, [1.0]), "or ask loop(1j * w)"),
    ],
)
def test_control_is_answered_by_what_to_call(call, said):
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    with refused(AttributeError, "python-control takes systems of its own", said):
        call(loop)


def test_outside_of_control_a_misspelt_name_is_answered_by_names():
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    with refused(AttributeError, "Loop has no 'margin': give 'disk_margin' or 'margins'."):
        loop.margin()


def test_several_loops_are_no_three_rows():
    several = pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.1, 0.2], p_prime=0.1)
    matrix = pf.Loop(pf.named_scenario("parking_lot").network)
    for loop in (several, matrix):
        with refused(pf.UnsupportedError, "no single scalar loop"):
            tuple(loop)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_count_of_encirclements(factor):
    """Around an integrator, which a transfer function and a state space show and data do not."""
    law = pf.Pi2(alpha=0.3125 * factor, beta=3.125 * factor)
    for update, kinds in (("continuous", ("pade", "ss")), ("sampled", ("ss",))):
        loop = pf.Loop(pf.Reno(), law, rtt="100ms", p_prime=0.1, update=update)
        count = loop.nyquist_count()
        assert count == (0 if factor == 1.0 else 2)
        for kind in kinds:
            assert control.nyquist_response(loop.to_control(kind)).count == count


def test_what_control_counts_of_frequency_responses():
    """One too few, with a warning, and with a timebase nothing: what `to_control` says of it."""
    if not control.__version__.startswith("0.10."):
        pytest.skip("what is said of python-control 0.10 is to be looked at anew")
    for factor in (1.0, 2.0):
        law = pf.Pi2(alpha=0.3125 * factor, beta=3.125 * factor)
        loop = pf.Loop(pf.Reno(), law, rtt="100ms", p_prime=0.1)
        with pytest.warns(UserWarning, match="non-integer"):
            found = control.nyquist_response(loop.to_control())
        assert found.count == loop.nyquist_count() - 1
    sampled = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, update="sampled")
    with pytest.raises(ValueError, match="imaginary"):
        control.nyquist_response(sampled.to_control())


@pytest.mark.parametrize("skew", [-0.7, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("update", ["continuous", "delayed"])
def test_disk_margin_is_that_of_control(update, skew):
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, update=update)
    mine = loop.disk_margin(skew)
    w = mine.w * np.linspace(0.99, 1.01, 201)
    size, gain, phase = control.disk_margins(loop.to_control("pade", order=8), w, skew=skew)
    # The Pade approximation, and the grid of theirs.
    assert mine.alpha == pytest.approx(float(size), rel=1e-6)
    assert mine.gain_margin_db == pytest.approx(float(gain), rel=1e-6)
    assert mine.phase_margin_deg == pytest.approx(float(phase), rel=1e-6)


@pytest.mark.slow
def test_disk_margin_by_brute_force(loop):
    margin = loop.disk_margin(1.0)
    assert margin.alpha == pytest.approx(loop.margins().modulus_margin, rel=1e-9)
    balanced = loop.disk_margin()
    # Inside the disk the loop stays stable, at its rim it is about to lose that.
    end = 98.0 if loop.update == "sampled" else 1e4
    w = np.geomspace(1e-2, end, 20001)
    delta = balanced.alpha * np.exp(1j * np.linspace(0, 2 * np.pi, 25)[:, None])
    factor = (1 + delta / 2) / (1 - delta / 2)
    assert np.min(np.abs(1 + factor * loop(1j * w))) > 0.0
    S = loop.sensitivity(w)
    assert 1 / np.max(np.abs(S - 0.5)) == pytest.approx(balanced.alpha, rel=1e-6)
    ordinary = loop.margins()
    assert balanced.gain_margin_db < ordinary.gain_margin_db
    assert balanced.phase_margin_deg < ordinary.phase_margin_deg


def test_disk_margin_is_of_a_stable_loop():
    unstable = pf.Loop(pf.Reno(), pf.Pi2(alpha=3, beta=30), rtt="100ms", p_prime=0.1)
    with pytest.raises(pf.UnsupportedError, match="not stable"):
        unstable.disk_margin()
    with pytest.raises(pf.UnsupportedError, match="for one loop"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.1, 0.2], p_prime=0.1).disk_margin()


# --- xarray ---------------------------------------------------------------------------------


RTT = xarray.DataArray([0.05, 0.1], dims="rtt", coords={"rtt": ["near", "far"]})
LOAD = xarray.DataArray([0.01, 0.1, 0.5], dims="load", coords={"load": [1, 2, 3]})


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_dimensions_broadcast_by_name(update):
    found = pf.Loop(pf.Reno(), pf.Pi2(), rtt=RTT, p_prime=LOAD, update=update)
    plain = pf.Loop(
        pf.Reno(), pf.Pi2(), rtt=RTT.to_numpy()[:, None], p_prime=LOAD.to_numpy(), update=update
    )
    margins, expected = found.margins(), plain.margins()
    names = ("gain_margin_db", "phase_margin_deg", "gain_crossover", "phase_crossover")
    for name in (*names, "delay_margin", "gain_margin", "modulus_margin", "verdict_code"):
        value = getattr(margins, name)
        assert value.dims == ("rtt", "load")
        np.testing.assert_array_equal(value.to_numpy(), getattr(expected, name))
    assert margins.gain_margin_db.sel(rtt="far", load=2).item() == pytest.approx(
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.1, update=update).margins().gain_margin_db
    )
    assert margins.verdict.sel(rtt="far", load=2).item() == "stable"
    np.testing.assert_array_equal(found.nyquist_count(), plain.nyquist_count())
    assert found.nyquist_count().dims == ("rtt", "load")
    table = found.sweep()
    assert table.gain_margin_db.dims == ("rtt", "load")
    assert table.rtt.values.tolist() == ["near", "far"]
    assert table.rtt_value.values.tolist() == [0.05, 0.1]
    assert table.p_prime.dims == ("load",)
    gm, pm, _, _ = margins
    assert gm.dims == pm.dims == ("rtt", "load")


def test_order_of_the_dimensions_does_not_matter():
    both = xarray.DataArray(np.array([[0.01, 0.1], [0.02, 0.2]]), dims=("load", "rtt"))
    rtt = RTT.drop_vars("rtt")
    found = pf.Loop(pf.Reno(), pf.Pi2(), rtt=rtt, p_prime=both).margins().gain_margin_db
    assert set(found.dims) == {"load", "rtt"}
    for i in range(2):
        for j in range(2):
            one = pf.Loop(
                pf.Reno(), pf.Pi2(), rtt=rtt[j].item(), p_prime=both[i, j].item()
            ).margins()
            assert found.isel(load=i, rtt=j).item() == pytest.approx(one.gain_margin_db, rel=1e-14)


def test_labelled_capacity():
    link = xarray.DataArray(
        ["10Mbit/s", "20Mbit/s"], dims="link", coords={"link": ["slow", "fast"]}
    )
    flows = pf.Flows(pf.Reno(), 10, "80ms")
    table = pf.Loop(flows, pf.Pi2(), capacity=link).sweep()
    expected = pf.Loop(flows, pf.Pi2(), capacity=["10Mbit/s", "20Mbit/s"]).margins()
    np.testing.assert_array_equal(table.gain_margin_db, expected.gain_margin_db)
    assert table.link.values.tolist() == ["slow", "fast"]


def test_labels_that_contradict_are_refused():
    other = RTT.assign_coords(rtt=["near", "farther"]).rename("p") / 10
    with pytest.raises(pf.QuantityError, match="differ in the coordinates"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=RTT, p_prime=other)
    with pytest.raises(pf.QuantityError, match="array without"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt=RTT, p_prime=[0.1, 0.2])
    flows = pf.Flows(pf.Reno(), LOAD * 100, "80ms")
    with pytest.raises(pf.QuantityError, match=r"Flows count has dim.* capacity is an array"):
        pf.Loop(flows, pf.Pi2(), capacity=[1e7, 2e7])
    law = pf.Reno(decrease=LOAD.assign_coords(load=[3, 2, 1]))
    with pytest.raises(pf.QuantityError, match="Reno decrease and Flows count differ in"):
        pf.equilibrium(pf.Flows(law, LOAD * 100, "80ms"), pf.Pi2(), 1e7)
    with pytest.raises(pf.QuantityError, match="Pi2 alpha is an array without"):
        pf.Loop(pf.Reno(), pf.Pi2(alpha=[0.1, 0.2]), rtt=RTT, p_prime=0.1)


def test_operating_points_keep_labels():
    point = pf.equilibrium_of(pf.Dctcp(), pf.Pi(), rtt=RTT, p=LOAD)
    plain = pf.equilibrium_of(pf.Dctcp(), pf.Pi(), rtt=RTT.to_numpy()[:, None], p=LOAD.to_numpy())
    assert point.rtt.dims == ("rtt",)
    assert point.p.dims == point.controller.dims == point.states[0][0].dims == ("load",)
    assert point.rate.dims == ("rtt", "load")
    np.testing.assert_array_equal(point.rate, plain.rate)
    assert point.rate.sel(rtt="far", load=2).item() == plain.rate[1, 1]
    assert "[0.05 .. 0.1] s" in point._repr_html_()
    # Coordinates that depend on a dimension go with it.
    slow = RTT.assign_coords(km=("rtt", [1e3, 2e3]))
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt=slow, p_prime=LOAD)
    assert set(loop.operating_point.rtt.coords) == {"rtt", "km"}
    assert set(loop.operating_point.p.coords) == {"load"}
    assert set(loop.operating_point.queue.coords) == {"rtt", "km", "load"}
    assert loop.margins().gain_margin_db.dims == ("rtt", "load")

    link = xarray.DataArray([1e7, 2e7], dims="link", coords={"link": ["slow", "fast"]})
    size = xarray.DataArray(["500B", "1500B"], dims="size")
    flows = [pf.Flows(pf.Reno(), 3, "80ms"), pf.Flows(pf.Reno(), 7, "20ms")]
    point = pf.equilibrium(flows, pf.Pi2(), link, size)
    plain = pf.equilibrium(flows, pf.Pi2(), [[1e7], [2e7]], [500, 1500])
    for mine, theirs in zip(point.window, plain.window, strict=True):
        assert mine.dims == ("link", "size")
        np.testing.assert_array_equal(mine, theirs)
    loop = pf.Loop(flows, pf.Pi2(), capacity=link, packet_size=size)
    assert loop.operating_point.controller.dims == ("link", "size")
    # compiled code solves for a loop's, to the last digits
    np.testing.assert_allclose(loop.operating_point.controller, plain.controller, rtol=1e-14)


GAIN = xarray.DataArray([0.1, 0.3], dims="gain", coords={"gain": ["low", "high"]})


@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_numbers_of_laws_broadcast_by_name(update):
    """Against loops one by one."""
    law = pf.Pi2(alpha=GAIN, beta=10 * RTT.assign_coords(rtt=["near", "far"]) + 2.0)
    found = pf.Loop(pf.Reno(), law, rtt=RTT, p_prime=0.1, update=update)
    gm = found.margins().gain_margin_db
    assert set(gm.dims) == {"rtt", "gain"}
    for rtt in ("near", "far"):
        for gain in ("low", "high"):
            alone = pf.Pi2(alpha=GAIN.sel(gain=gain).item(), beta=law.beta.sel(rtt=rtt).item())
            one = pf.Loop(
                pf.Reno(), alone, rtt=RTT.sel(rtt=rtt).item(), p_prime=0.1, update=update
            ).margins()
            assert gm.sel(rtt=rtt, gain=gain).item() == pytest.approx(one.gain_margin_db, rel=1e-9)
    table = found.sweep()
    assert table.alpha.dims == ("gain",)
    assert table.gain.values.tolist() == ["low", "high"]
    # The operating point does not depend on the gains.
    assert found.operating_point.rtt.dims == ("rtt",)


def test_numbers_of_flows_broadcast_by_name():
    link = xarray.DataArray(["25Mbit/s", "100Mbit/s"], dims="link")
    flows = [
        pf.Flows(pf.Reno(), LOAD * 100, "80ms"),
        pf.Flows(pf.Reno(decrease=GAIN), 5, RTT),
    ]
    point = pf.equilibrium(flows, pf.Pi2(), link)
    assert set(point.controller.dims) == {"link", "load", "gain", "rtt"}
    loop = pf.Loop(flows, pf.Pi2(), capacity=link)
    at = {"load": 2, "rtt": "far", "gain": "low"}
    alone = [pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.Reno(decrease=0.1), 5, "100ms")]
    expected = pf.equilibrium(alone, pf.Pi2(), "100Mbit/s")
    assert point.controller.sel(at).isel(link=1).item() == pytest.approx(
        expected.controller, rel=1e-12
    )
    bandwidth = pf.Loop(alone, pf.Pi2(), capacity="100Mbit/s").bandwidth()
    assert loop.bandwidth().sel(at).isel(link=1).item() == pytest.approx(bandwidth, rel=1e-9)


def test_laws_with_names_are_compared_with_them():
    assert pf.Pi2(alpha=GAIN) == pf.Pi2(alpha=GAIN.copy())
    assert hash(pf.Pi2(alpha=GAIN)) == hash(pf.Pi2(alpha=GAIN.copy()))
    assert pf.Pi2(alpha=GAIN) != pf.Pi2(alpha=GAIN.to_numpy())
    assert pf.Pi2(alpha=GAIN) != pf.Pi2(alpha=GAIN.rename(gain="other"))
    assert pf.Pi2(alpha=xarray.DataArray(0.25)).alpha == 0.25
    with pytest.raises(pf.DomainError, match="Pi2 alpha = -1"):
        pf.Pi2(alpha=GAIN - 1.1)
    with pytest.raises(ValueError, match="read-only"):
        pf.Pi2(alpha=GAIN).alpha[0] = 1.0


W = xarray.DataArray([0.5, 5.0, 20.0], dims="w", coords={"w": [0.5, 5.0, 20.0]})


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_what_is_asked_keeps_its_names(update):
    """Of one loop, and of an array of loops with names, element by element."""
    one = pf.Loop(pf.Reno(), pf.Pi2(), rtt=0.1, p_prime=0.5, update=update)
    several = pf.Loop(pf.Reno(), pf.Pi2(), rtt=RTT, p_prime=LOAD, update=update)
    asked = {"__call__": 1j * W, "sensitivity": W, "step": W / 10}
    for name, argument in asked.items():
        # Steps are inverted up to the longest time asked about, with an error of 1e-8.
        atol = 1e-8 if name == "step" else 0.0
        alone = getattr(one, name)(argument)
        assert alone.dims == ("w",)
        assert alone.w.values.tolist() == [0.5, 5.0, 20.0]
        np.testing.assert_array_equal(alone, getattr(one, name)(argument.to_numpy()))
        found = getattr(several, name)(argument)
        assert found.dims == ("rtt", "load", "w")
        np.testing.assert_allclose(found.sel(rtt="far", load=3), alone, rtol=1e-12, atol=atol)
        # A dimension that both have is one: each loop is asked its own.
        mine = xarray.DataArray(argument.to_numpy(), dims="load", coords={"load": [1, 2, 3]})
        own = getattr(several, name)(mine)
        assert own.dims == ("rtt", "load")
        for k in range(3):
            np.testing.assert_allclose(own[:, k], found[:, k, k], rtol=1e-12, atol=atol)
        scalar = getattr(several, name)(argument.to_numpy()[1])
        assert scalar.dims == ("rtt", "load")
        np.testing.assert_allclose(scalar, found.isel(w=1), rtol=1e-12, atol=atol)
        with pytest.raises(pf.QuantityError, match=r"give . as an xarray\.DataArray"):
            getattr(several, name)(argument.to_numpy())
        with pytest.raises(pf.QuantityError, match="differ in the coordinates"):
            getattr(several, name)(mine.assign_coords(load=[1, 2, 4]))
        bare = pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.05, 0.1], p_prime=0.5, update=update)
        with pytest.raises(pf.QuantityError, match=r"array of shape \(2,\) without"):
            getattr(bare, name)(argument)
    if update != "sampled":
        assert several.roots(2).dims == ("rtt", "load", "root")


def test_limits_keep_names():
    limit = pf.loop.rtt_limit(GAIN, 3.0, 0.03 * LOAD, "sampled")
    assert limit.dims == ("gain", "load")
    assert limit.sel(gain="high", load=2).item() == pf.loop.rtt_limit(0.3, 3.0, 0.003, "sampled")
    for update in ("continuous", "sampled"):
        worst = pf.loop.low_load(pf.Reno(), pf.Pi2(alpha=GAIN), RTT, update)
        plain = pf.loop.low_load(pf.Reno(), pf.Pi2(alpha=0.1), 0.1, update)
        for name in ("gain_margin_db", "modulus_margin", "verdict_code"):
            value = getattr(worst, name)
            assert value.dims == ("rtt", "gain")
            assert value.sel(rtt="far", gain="low").item() == pytest.approx(getattr(plain, name))
    rows = pf.loop.margins_of(10.0, 2**0.5, "reno", GAIN, 3.125, 0.032, RTT)
    one = pf.loop.margins_of(10.0, 2**0.5, "reno", 0.1, 3.125, 0.032, 0.1)
    for row, value in zip(rows, one, strict=True):
        assert row.dims == ("gain", "rtt")
        assert row.sel(gain="low", rtt="far").item() == value


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: pf.fluid.batch(pf.named_scenario("pi2_fig12_pi2"), {"aqm.alpha": LOAD}),
            r"\(load\), which only loops .* by \.to_numpy\(\)",
        ),
        (lambda: pf.tune(RTT), r"\(rtt\), which only loops .* by \.to_numpy\(\)"),
        (lambda: pf.margin_map(pf.Pi2(alpha=GAIN)), "Pi2 alpha is an array.* give one number"),
        (
            lambda: pf.Scenario("1s", pf.Link(LOAD), pf.Pi2(), [pf.Flows(pf.Reno(), 5, "50ms")]),
            "link.capacity has the shape .* give one number",
        ),
    ],
)
def test_names_that_cannot_be_kept_are_refused(build, words):
    with refused((pf.QuantityError, pf.ScenarioError), match=words):
        build()


# --- JAX ------------------------------------------------------------------------------------


def test_derivatives_are_refused_with_the_way_there(jax):
    def margin(alpha: Any) -> Any:
        return pf.Loop(pf.Reno(), pf.Pi2(alpha=alpha), rtt=0.1, p_prime=0.1).margins()

    def end(alpha: Any) -> Any:
        flows = [pf.Flows(pf.Reno(), 5, "50ms")]
        scenario = pf.Scenario("1s", pf.Link("10Mbit/s"), pf.Pi2(alpha=alpha), flows)
        return pf.fluid.simulate(scenario)

    with jax.enable_x64(True):
        with pytest.raises(pf.UnsupportedError, match=r"pf\.loop\.traced_margins"):
            jax.grad(margin)(0.3)
        with pytest.raises(pf.UnsupportedError, match=r"pf\.fluid\.gradient"):
            jax.grad(end)(0.3)


# --- numbers of other types -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dimension", "expected"),
    [
        (datetime.timedelta(milliseconds=50), "time", 0.05),
        (np.timedelta64(50, "ms"), "time", 0.05),
        (pd.Timedelta("50ms"), "time", 0.05),
        (Fraction(1, 8), "number", 0.125),
        (Decimal("0.3125"), "frequency", 0.3125),
        (["50ms", "0.1s"], "time", [0.05, 0.1]),
        (np.array(["50ms", "0.1s"]), "time", [0.05, 0.1]),
        ([["1Mbit/s"], ["10Mbit/s"]], "rate", [[1e6], [1e7]]),
        ([datetime.timedelta(seconds=1), "2s", 3], "time", [1.0, 2.0, 3.0]),
        (np.array([50, 100], "timedelta64[ms]"), "time", [0.05, 0.1]),
        (pd.Series([0.05, 0.1]), "time", [0.05, 0.1]),
        (pd.Series(["50ms", "0.1s"]), "time", [0.05, 0.1]),
        (pd.to_timedelta(pd.Series(["50ms", "100ms"])), "time", [0.05, 0.1]),
        ((Fraction(1, 2), Decimal("0.25")), "number", [0.5, 0.25]),
    ],
    ids=str,
)
def test_numbers_of_other_types(value, dimension, expected):
    np.testing.assert_array_equal(validate_quantity(value, dimension, "x"), expected)


@pytest.mark.parametrize(
    ("value", "dimension", "words"),
    [
        (datetime.timedelta(seconds=1), "rate", "is a time"),
        (np.timedelta64(1, "s"), "number", "is a time"),
        (np.timedelta64("NaT", "s"), "time", "not finite"),
        (Decimal("NaN"), "number", "not finite"),
        (["50ms", "0.1"], "time", "no unit"),
        (["50ms", ["0.1s"]], "time", "rectangular"),
        ([True, 0.5], "number", "no real number"),
        (["50ms", None], "time", "no"),
    ],
    ids=str,
)
def test_what_is_refused_of_them(value, dimension, words):
    with refused(pf.QuantityError, match=words):
        validate_quantity(value, dimension, "x")


# --- notebooks ------------------------------------------------------------------------------


def test_tables_for_notebooks(loop):
    scenario = pf.named_scenario("pi2_fig12_pi2")
    shown = {
        "Loop": loop._repr_html_(),
        "Margins": loop.margins()._repr_html_(),
        "Operating point": loop.operating_point._repr_html_(),
        "Scenario pi2_fig12_pi2": scenario._repr_html_(),
    }
    for title, text in shown.items():
        assert text.startswith("<table>")
        assert f"<b>{title}</b>" in text
        assert text.count("<tr>") == text.count("</tr>") > 3
    assert loop.update in shown["Loop"]
    assert loop.update in shown["Margins"]
    assert f"{loop.margins().gain_margin_db:.5g} dB" in shown["Margins"]
    assert "14.142 segments" in shown["Operating point"]
    assert "Pi2(" in shown["Scenario pi2_fig12_pi2"]
    several = pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.05, 0.1], p_prime=0.1)
    assert "[0.05 .. 0.1] s" in several._repr_html_()
    assert "verdict" not in several.margins()._repr_html_()


@pytest.mark.parametrize("sender", [pf.Reno(), pf.Scalable()])
def test_explanation_in_latex(sender):
    """matplotlib's parser reads each line of it."""
    explained = pf.Loop(sender, pf.CoupledPi2(), rtt="100ms", p_prime=1e-7).explain()
    assert explained._repr_latex_() == f"$$ {explained.latex} $$"
    inner = explained.latex.removeprefix(r"\begin{aligned}").removesuffix(r"\end{aligned}")
    lines = inner.split(r" \\ ")
    assert len(lines) == 1 + len(explained.terms)
    figure = mpl.figure.Figure()
    for row, line in enumerate(lines):
        figure.text(0.1, 0.1 * row, f"${line.replace('&', '')}$")
    figure.canvas.draw()
    assert r"\times 10^{" in explained.latex
