"""Maps of margins: against loops built and searched one by one, and against known corners."""

from __future__ import annotations

import colorsys
import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import pi2_fluid as pf
from pi2_fluid.design.plants import make_plants
from pi2_fluid.design.region import scan
from pi2_fluid.loop.crossovers import find_crossings
from pi2_fluid.loop.margins import margins_from_crossings
from pi2_fluid.loop.roots import count_unstable
from pi2_fluid.plot import draw_margin_map, draw_margin_maps
from pi2_fluid.plot import maps as drawing

BITS = 8 * 1500
PAIRS = [
    (pf.presets.linux_dualpi2(), pf.Reno()),
    (pf.presets.rfc9332("50ms"), pf.CReno()),
    (pf.presets.pi2_paper(), pf.Reno()),
    (pf.presets.rfc8033(), pf.Reno()),
    (pf.presets.rfc8033(), pf.Scalable()),
    (pf.CoupledPi2(), pf.Scalable()),
    (pf.presets.linux_dualpi2(), pf.Cubic()),
    (pf.presets.rfc8033(), pf.Cubic()),
]


def one_queue(aqm):
    """The controller of a dual queue, alone, as `Loop` has it."""
    if not isinstance(aqm, pf.DualPi2):
        return aqm
    fields = {
        name: getattr(aqm, name) for name in ("alpha", "beta", "target", "update_interval", "k")
    }
    return pf.CoupledPi2(**fields)


@pytest.fixture(scope="module")
def linux():
    return pf.margin_map(pf.presets.linux_dualpi2())


# --- the numbers ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")  # few segments, T above R
@pytest.mark.parametrize("update", ["sampled", "delayed", "continuous"])
@pytest.mark.parametrize(("aqm", "sender"), PAIRS)
def test_margins_are_those_of_the_loops_and_of_their_closed_form(aqm, sender, update, rng):
    """Linearised by automatic differentiation, and written down by hand, as designs have them.

    Designs sum few aliases: 3e-5 dB where T is 16 times R, 3e-6 at T = 10 R and below.
    """
    rtts, rates = np.sort(10.0 ** rng.uniform(-3, 0, 3)), np.sort(10.0 ** rng.uniform(5, 10, 3))
    found = pf.margin_map(aqm, sender, rtts=rtts, rates=rates, update=update)
    inside = found.inside.to_numpy()
    assert inside.any()
    gain, phase = found.gain_margin_db.to_numpy(), found.phase_margin.to_numpy()
    load = found.p_prime.to_numpy()
    at = np.broadcast_to(rtts[:, None], load.shape)[inside]
    loop = pf.Loop(sender, one_queue(aqm), rtt=at, p_prime=load[inside], update=update)
    margins = loop.margins()
    few = 3e-5 if isinstance(sender, pf.Cubic) and update == "sampled" else 1e-9
    np.testing.assert_allclose(gain[inside], margins.gain_margin_db, rtol=0, atol=few)
    np.testing.assert_allclose(phase[inside], margins.phase_margin_deg, rtol=0, atol=few)
    # What the picture calls unstable is.
    np.testing.assert_array_equal(np.sign(gain[inside]), margins.verdict_code)
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    for row in np.flatnonzero(inside.any(axis=1)):
        where = inside[row]
        plants = make_plants([sender], aqm, rtts[row], [load[row, where]])
        other = scan(plants, *gains, update)
        np.testing.assert_allclose(gain[row, where], other.gain_margin_db, rtol=0, atol=3e-5)
        np.testing.assert_allclose(phase[row, where], other.phase_margin_deg, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_round_trips_of_a_fraction_of_the_interval():
    """Where the phase crosses just below pi/T, or only there: the readable search agrees."""
    rtts, rates = [0.007], [1e7, 1.31e7, 1.39e7, 1.48e7]
    found = pf.margin_map(pf.Pi2(), rtts=rtts, rates=rates)
    near = []
    for row, column in np.argwhere(found.inside.to_numpy()):
        point = found.isel(rtt=row, rate=column)
        plants = make_plants([pf.Reno()], pf.Pi2(), point.rtt.item(), [point.p_prime.item()])
        one = plants.linear(0.3125, 3.125, 0.032).element((0, 0))
        gm, pm, _, w_pc, *_ = margins_from_crossings(
            find_crossings(one, "sampled"), lambda one=one: count_unstable(one, "sampled")
        )
        assert point.gain_margin_db.item() == pytest.approx(gm, abs=1e-9)
        assert point.phase_margin.item() == pytest.approx(pm, abs=1e-9)
        near.append(w_pc * 0.032 / np.pi)
    assert np.sum((np.array(near) > 0.8) & (np.array(near) < 0.9999)) > 2


@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
def test_a_rate_is_that_of_the_flows_of_a_link():
    """Ten flows on 100 Mbit/s: the same loop, solved for its operating point."""
    aqm = pf.Pi2(target="20ms")
    flows = pf.Flows(pf.Reno(), 10, "80ms")
    loop = pf.Loop(flows, aqm, capacity="100Mbit/s", update="sampled")
    found = pf.margin_map(aqm, rtts="100ms", rates="10Mbit/s")
    assert float(found.gain_margin_db[0, 0]) == pytest.approx(
        loop.margins().gain_margin_db, abs=1e-5
    )
    assert float(found.window[0, 0]) == pytest.approx(loop.operating_point.window[0], rel=1e-9)
    assert float(found.p_prime[0, 0]) == pytest.approx(loop.operating_point.p_prime[0], rel=1e-9)


@pytest.mark.parametrize(
    ("aqm", "limit"),
    [
        # By theory, of the exact sampled loop as the load vanishes, at R = 100 ms.
        (pf.presets.linux_dualpi2(), 0.730),
        (pf.presets.pi2_paper(), 0.103),
        (pf.presets.rfc9332("100ms"), 0.465),
    ],
)
def test_margin_of_fast_flows_is_the_known_limit(aqm, limit):
    found = pf.margin_map(aqm, rtts="100ms", rates=[1e9, 1e12])
    fast, faster = found.gain_margin_db.to_numpy()[0]
    # the known ones have three digits
    assert faster == pytest.approx(limit, abs=6e-4)
    assert fast > faster
    exact = pf.loop.low_load(pf.Reno(), one_queue(aqm), "100ms", "sampled").gain_margin_db
    # a window of 1e7 segments is 1e-5 dB from an infinite one
    assert faster == pytest.approx(exact, abs=2e-5)


@pytest.mark.slow
def test_faster_flows_and_longer_paths_are_worse(linux):
    """The gain margin of Reno falls with both, unless T is long against R.

    Above T = 2.5 R it is that at pi/T which counts, and it rises at first: one more reason to look
    at a map instead of its corners.
    """
    gain, rtt = linux.gain_margin_db.to_numpy(), linux.rtt.to_numpy()
    usual = rtt > 0.016 / 2
    for axis in (0, 1):
        assert np.nanmax(np.diff(gain[usual], axis=axis)) < 0.0
        assert np.nanmax(np.diff(gain[rtt < 0.016 / 3], axis=axis)) > 1.0


@pytest.mark.slow
def test_outside_is_where_no_load_gives_the_window(linux):
    window = np.outer(linux.rtt, linux.rate) / BITS
    np.testing.assert_allclose(linux.window, window, rtol=1e-12)
    np.testing.assert_array_equal(linux.inside, window * np.sqrt(0.5) >= 1.0)
    for name in ("gain_margin_db", "phase_margin"):
        np.testing.assert_array_equal(np.isnan(linux[name]), ~linux.inside)


@pytest.mark.parametrize(
    ("sender", "smallest"),
    [(pf.Reno(), np.sqrt(2)), (pf.CReno(), 1 / np.sqrt(0.3)), (pf.Scalable(), 2.0)],
)
def test_smallest_window(sender, smallest):
    """At p' = 1 the window is 1/sqrt(decrease), or 2/k of a Scalable flow: here k = 1."""
    rates = BITS / 0.1 * smallest * np.array([1.0 - 1e-9, 1.0, 1.0 + 1e-9])
    found = pf.margin_map(pf.Pi(alpha=0.02, beta=0.2), sender, rtts=0.1, rates=rates)
    assert list(found.inside.to_numpy()[0]) == [False, True, True]


def test_packet_size_scales_the_rate():
    small = pf.margin_map(pf.Pi2(), rtts=0.1, rates=1e6, packet_size="500B")
    large = pf.margin_map(pf.Pi2(), rtts=0.1, rates=3e6)
    assert float(small.gain_margin_db[0, 0]) == pytest.approx(
        float(large.gain_margin_db[0, 0]), rel=1e-9
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
def test_a_map_by_acknowledgements_has_the_margins_of_its_loops():
    """Sampled ones within what fewer aliases cost Reno; others exactly; none below the target.

    T is 200 ms in one of the queues: there the phase crosses at pi/T, where the delay of T/2 has
    no crossover near.
    """
    rtts, rates = np.geomspace(5e-3, 0.3, 6), np.geomspace(1e5, 1e9, 5)
    for aqm in (pf.Pi2(), pf.Pi2(update_interval="200ms"), pf.presets.linux_dualpi2()):
        for update, close in (("sampled", 2e-3), ("delayed", 1e-12)):
            found = pf.margin_map(aqm, rtts=rtts, rates=rates, update=update, clock="acks")
            assert found.attrs["clock"] == "acks"
            above = rtts > float(aqm.target)
            assert not above.all()
            assert not found.inside.values[~above].any()
            for i, j in np.argwhere(found.inside.values).tolist():
                loop = pf.Loop(
                    pf.Reno(), aqm.in_one_queue(), rtt=rtts[i], p_prime=float(found.p_prime[i, j]),
                    update=update, clock="acks",
                )  # fmt: skip
                expected = loop.margins()
                where = (type(aqm).__name__, update, i, j)
                gain, phase = float(found.gain_margin_db[i, j]), float(found.phase_margin[i, j])
                assert gain == pytest.approx(expected.gain_margin_db, abs=close), where
                assert phase == pytest.approx(expected.phase_margin_deg, abs=close), where


@pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
def test_maps_by_acknowledgements_where_a_delay_of_half_an_interval_is_unstable():
    """Cubic at T = 200 ms: sampled it is stable still, and gains 75 dB lower are another margin."""
    rates = np.geomspace(5e8, 4e9, 12)
    queue, rtt = pf.Pi2(update_interval="200ms"), 0.05
    found = pf.margin_map(queue, pf.Cubic(), rtts=rtt, rates=rates, clock="acks")
    model = {"update": "sampled", "clock": "acks"}
    flows = pf.Flows(pf.Cubic(), 10, rtt - 0.02)
    expected = pf.Loop(flows, queue, capacity=10 * rates, **model).margins().gain_margin_db
    assert (expected > 0.0).any()
    assert (expected < 0.0).any()
    np.testing.assert_allclose(found.gain_margin_db.values.ravel(), expected, atol=0.03)


@pytest.mark.slow
def test_schema_and_files(linux, tmp_path):
    assert linux.gain_margin_db.dims == ("rtt", "rate")
    assert linux.sizes == {"rtt": 121, "rate": 121}
    assert (float(linux.rtt[0]), float(linux.rtt[-1])) == (1e-3, pytest.approx(1.0))
    assert (float(linux.rate[0]), float(linux.rate[-1])) == (1e4, pytest.approx(1e10))
    assert all(v.attrs["units"] and v.attrs["long_name"] for v in linux.variables.values())
    linux.to_netcdf(tmp_path / "map.nc", engine="h5netcdf")
    import xarray

    with xarray.open_dataset(tmp_path / "map.nc", engine="h5netcdf") as back:
        xarray.testing.assert_identical(back.load(), linux)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"rtts": [0.1, 0.05]}, pf.QuantityError, "rtts is no rising sequence"),
        ({"rates": [[1e6], [2e6]]}, pf.QuantityError, "rates is no rising sequence"),
        ({"rates": [np.nan]}, pf.QuantityError, "rates"),
        ({"rtts": "0s"}, pf.DomainError, "rtts"),
        ({"rates": "10kbit/s", "rtts": "10ms"}, pf.DomainError, "give higher rates"),
        ({"packet_size": [1500.0, 500.0]}, pf.QuantityError, "500.0] is an array: give one number"),
        ({"update": "exact"}, pf.QuantityError, "update"),
        ({"clock": "sun"}, pf.QuantityError, "clock"),
        ({"clock": "acks", "rtts": "15ms"}, pf.DomainError, "are not above the target, 0.02 s"),
        ({"aqm": pf.CoDel()}, pf.UnsupportedError, "no alpha, beta"),
        ({"aqm": pf.Pi2(alpha=np.array([0.1, 0.2]))}, pf.QuantityError, "is an array"),
        (
            {"sender": pf.Dctcp(), "aqm": pf.CoupledPi2()},
            pf.UnsupportedError,
            "use Scalable for what it would be",
        ),
        (
            {"sender": pf.Cubic(), "rates": "10kbit/s", "rtts": "10ms"},
            pf.DomainError,
            "segments, below 1.23, where",
        ),
        ({"sender": pf.Scalable()}, pf.UnsupportedError, "coupled"),
        ({"sender": "reno"}, pf.QuantityError, "is no sender"),
    ],
)
def test_bad_input_is_one_sentence(arguments, error, words):
    aqm = arguments.pop("aqm", pf.Pi2())
    with pytest.raises(error, match=re.escape(words)):
        pf.margin_map(aqm, **arguments)


# --- the picture ----------------------------------------------------------------------------


def luminance(color):
    """Relative luminance, as sRGB defines it."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(color)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_colours_rise_in_lightness():
    levels = [luminance(color) for color in drawing._FILLS]
    assert np.all(np.diff(levels) > 0.12)
    assert len({round(colorsys.rgb_to_hls(*to_rgb(c))[0], 2) for c in drawing._FILLS}) > 3


def arrays(data):
    return data.rtt.to_numpy(), data.rate.to_numpy(), data.gain_margin_db.to_numpy()


def pixels(figure):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


@pytest.mark.slow
def test_every_point_has_the_colour_of_its_margin():
    """Read back from the picture, away from lines and hatches."""
    rtts, rates = np.geomspace(0.03, 0.3, 121), np.geomspace(1e5, 1e9, 121)
    linux = pf.margin_map(pf.presets.linux_dualpi2(), rtts=rtts, rates=rates)
    figure = Figure(figsize=(6, 5), dpi=120)
    ax = figure.subplots()
    draw_margin_map(ax, *arrays(linux))
    image = pixels(figure)
    edges = np.array([0.0, 3.0, 6.0, 10.0])
    counts = dict.fromkeys(range(5), 0)
    for i in range(2, 119, 4):
        for j in range(2, 119, 4):
            near = linux.gain_margin_db.to_numpy()[i - 2 : i + 3, j - 2 : j + 3]
            if np.isnan(near).any() or np.ptp(np.digitize(near, edges)):
                continue
            band = int(np.digitize(near[2, 2], edges))
            at = (1e3 * float(linux.rtt[i]), 1e-6 * float(linux.rate[j]))
            x, y = ax.transData.transform(at)
            patch = image[image.shape[0] - 1 - int(y), int(x)] / 255
            expected = np.array(to_rgb(drawing._FILLS[band]))
            if band or np.abs(patch - expected).max() < 0.01:  # or on a line of the hatching
                counts[band] += 1
            if band:
                np.testing.assert_allclose(patch, expected, atol=0.01)
    assert min(counts.values()) > 10


@pytest.mark.slow
def test_two_maps_share_one_bar(linux):
    figure = Figure(layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    other = pf.margin_map(pf.presets.rfc8033(), rtts=linux.rtt, rates=linux.rate)
    bar = draw_margin_maps(axes, {"Linux": arrays(linux), "RFC 8033": arrays(other)}, longest=0.1)
    assert [ax.get_title(loc="left") for ax in axes] == ["Linux", "RFC 8033"]
    assert list(bar.get_ticks()) == [0.0, 3.0, 6.0, 10.0]
    assert axes[0].get_xlabel() == "round-trip time, queue included [ms]"
    assert axes[0].get_ylabel() == "rate per flow [Mbit/s]"
    dashed = [line for ax in axes for line in ax.get_lines() if line.get_xdata()[0] == 100.0]
    assert len(dashed) == 2
    assert pixels(figure).std() > 10


def test_a_map_that_is_stable_everywhere_is_drawn():
    safe = pf.margin_map(pf.Pi2(alpha=1e-4, beta=1e-2), rtts=[0.05, 0.1], rates=[1e7, 1e8])
    figure = Figure()
    draw_margin_map(figure.subplots(), *arrays(safe))
    assert pixels(figure).std() > 1
