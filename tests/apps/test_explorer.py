"""The explorer: its curves are those of `Loop`, and its sliders move them."""

from __future__ import annotations

import io
import sys
import warnings

import numpy as np
import pytest
from matplotlib.image import imread

import pi2_fluid as pf
from pi2_fluid.apps.explorer.explorer import explorer_curves
from pi2_fluid.apps.explorer.sliders import make_slider
from pi2_fluid.plot import LoopCurves, LoopPicture

SETTINGS = [
    (pf.Pi2(), pf.Reno(), 0.1, 0.1),
    (pf.presets.linux_dualpi2(), pf.Reno(), 0.1, 1e-3),
    (pf.presets.rfc8033(), pf.CReno(), 0.05, 0.2),
    (pf.CoupledPi2(alpha=0.05, beta=2.5), pf.Scalable(), 0.08, 0.3),
    (pf.Pi2(alpha=0.1, beta=2.0, update_interval="60ms"), pf.Reno(), 0.01, 0.5),
    (pf.Pi2(alpha=0.1, beta=2.0, update_interval="4ms"), pf.Reno(), 0.1, 1.0),
    (pf.Pi2(alpha=0.2, beta=4.0, update_interval="32ms"), pf.Reno(), 0.2, 0.3),
]


@pytest.fixture(autouse=True)
def few_segments():
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        yield


def loop_of(aqm, sender, rtt, p_prime):
    if isinstance(aqm, pf.DualPi2):
        aqm = pf.CoupledPi2(
            alpha=aqm.alpha, beta=aqm.beta, update_interval=aqm.update_interval, k=aqm.k
        )
    return pf.Loop(sender, aqm, rtt=rtt, p_prime=p_prime, update="sampled")


# --- the curves -----------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
def test_curves_are_those_of_the_loop(setting):
    found, loop = explorer_curves(*setting), loop_of(*setting)
    interval, rtt = float(setting[0].update_interval), setting[2]
    assert found.w[-1] == pytest.approx(min(np.pi / interval, 20 / rtt))
    np.testing.assert_allclose(found.response, loop(1j * found.w), rtol=1e-12)
    np.testing.assert_allclose(
        np.exp(1j * np.radians(found.phase_deg)), found.response / np.abs(found.response), rtol=1e-9
    )
    assert -200.0 < found.phase_deg[0] < -80.0
    assert np.abs(np.diff(found.phase_deg)).max() < 90.0
    margins = loop.margins()
    assert found.margins.gain_margin_db == margins.gain_margin_db
    assert found.verdict == margins.verdict
    assert found.t[-1] == pytest.approx(
        interval * min(np.ceil(40 * rtt / interval), 800), rel=1e-12
    )
    # Both damp the wrap-around to 1e-9 of a response of about 1; the aliases left out cost more
    # where T is six times R. Loop.step damps less where the loop grows: at t = 0 it has -8e-7.
    tolerance = 3e-8 if found.verdict == "stable" else 1e-5
    np.testing.assert_allclose(found.step, loop.step(found.t), atol=tolerance)


def test_phase_and_margin_are_one_story():
    found = explorer_curves(pf.Pi2(), pf.Reno(), 0.1, 0.1)
    gain = np.interp(found.margins.gain_crossover, found.w, np.abs(found.response))
    assert gain == pytest.approx(1.0, abs=2e-3)  # 240 points: lines between them
    phase = np.interp(found.margins.gain_crossover, found.w, found.phase_deg)
    assert phase + 180.0 == pytest.approx(found.margins.phase_margin_deg, abs=0.05)


def test_own_grids():
    w, t = np.array([1.0, 3.0]), np.array([0.5, 1.0])
    found, loop = (
        explorer_curves(pf.Pi2(), pf.Reno(), 0.1, 0.1, w, t),
        loop_of(*SETTINGS[0]),
    )
    np.testing.assert_array_equal(found.w, w)
    np.testing.assert_allclose(found.step, loop.step(t), rtol=1e-12)


def test_a_law_without_closed_form():
    found = explorer_curves(pf.Pi2(), pf.Cubic(), 0.1, 0.1)
    assert found.verdict in {"stable", "unstable"}
    assert np.isfinite(found.step).all()


@pytest.mark.parametrize(
    ("aqm", "p_prime", "error"),
    [
        (pf.CoDel(), 0.1, pf.UnsupportedError),
        (pf.Pi2(), 1.5, pf.DomainError),
        (pf.Pi2(), 0.0, pf.DomainError),
    ],
)
def test_no_loop(aqm, p_prime, error):
    with pytest.raises(error):
        explorer_curves(aqm, pf.Reno(), 0.1, p_prime)


# --- the picture ----------------------------------------------------------------------------


def shown(step=1.0):
    w = np.geomspace(0.1, 100.0, 50)
    response = 10.0 / (1j * w)
    delays = np.linspace(0.0, 40.0, 30)
    return LoopCurves(
        w, response, np.full(50, -90.0), delays, np.full(30, step), (10.0, 90.0), (np.inf, np.inf)
    )


def image_of(png):
    """One of the three pictures, or all of them side by side."""
    parts = png if isinstance(png, tuple) else (png,)
    return np.hstack([imread(io.BytesIO(part), format="png") for part in parts])


@pytest.mark.slow
def test_an_update_draws_what_is_new_and_nothing_else():
    picture = LoopPicture(shown())
    first, second = image_of(picture.update(shown(1.0))), image_of(picture.update(shown(2.0)))
    assert first.shape == (420, 1080, 3)
    changed = np.argwhere(np.abs(first - second).max(axis=2) > 0.1)
    # only in the step response, the third of the width on the right
    assert changed.size
    assert changed[:, 1].min() > 720
    np.testing.assert_array_equal(image_of(picture.update(shown(1.0))), first)


@pytest.mark.slow
def test_margins_that_do_not_exist_are_not_drawn():
    picture = LoopPicture(shown())
    picture.update(shown())
    assert not picture._bars["gain bar"][1].get_visible()
    assert picture._bars["phase text"][1].get_text() == "90.0°"


@pytest.mark.slow
def test_the_readers_own_settings_stay():
    import matplotlib as mpl

    with mpl.rc_context({"lines.linewidth": 7.0}):
        LoopPicture(shown())
        assert mpl.rcParams["lines.linewidth"] == 7.0


# --- the widgets ----------------------------------------------------------------------------

widgets = pytest.importorskip("ipywidgets", reason="the extra `notebook` is not installed")


def parts(panel):
    rows, line, pictures = panel.children
    image = pictures.children[0]
    sliders = dict(
        zip(("alpha", "beta", "update_interval", "rtt", "flows"), rows.children, strict=True)
    )
    return sliders, line, image


@pytest.fixture
def panel():
    return pf.explore(pf.Pi2(alpha=0.05, beta=2.5, update_interval="16ms"), flows=20)


@pytest.mark.slow
def test_it_begins_as_asked(panel):
    assert isinstance(panel, widgets.VBox)
    sliders, line, image = parts(panel)
    assert {name: slider.value for name, slider in sliders.items()} == {
        "alpha": 0.05,
        "beta": 2.5,
        "update_interval": 16.0,
        "rtt": pytest.approx(100.0),
        "flows": 20.0,
    }
    assert [slider.description for slider in sliders.values()] == [
        "alpha [Hz]", "beta [Hz]", "T [ms]", "RTT [ms]", "flows",
    ]  # fmt: skip
    flows = pf.Flows(pf.Reno(), 20, 0.080)
    aqm = pf.Pi2(alpha=0.05, beta=2.5, update_interval="16ms", target="20ms")
    loop = pf.Loop(flows, aqm, capacity="100Mbit/s", update="sampled")
    margins = loop.margins()
    assert f"<b>{margins.gain_margin_db:.2f} dB</b>" in line.value
    assert f"<b>{margins.phase_margin_deg:.1f}°</b>" in line.value
    assert ">stable</b>" in line.value
    assert "5 Mbit/s" in line.value
    assert image_of(image.value).std() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [("alpha", 0.2), ("beta", 1.0), ("update_interval", 8.0), ("rtt", 50.0), ("flows", 200.0)],
)
def test_every_slider_moves_the_picture_and_the_line(panel, name, value):
    sliders, line, image = parts(panel)
    before = image.value, line.value
    sliders[name].value = value
    assert image.value != before[0]
    assert line.value != before[1]
    values = {key: float(slider.value) for key, slider in sliders.items()}
    aqm = pf.Pi2(
        alpha=values["alpha"],
        beta=values["beta"],
        update_interval=values["update_interval"] / 1e3,
    )
    window = 1e8 / 12000 * values["rtt"] / 1e3 / values["flows"]
    loop = pf.Loop(
        pf.Reno(), aqm, rtt=values["rtt"] / 1e3, p_prime=2**0.5 / window, update="sampled"
    )
    assert f"<b>{loop.margins().gain_margin_db:.2f} dB</b>" in line.value
    assert f"window of {window:.1f} segments" in line.value


def test_where_there_are_no_widgets_its_text_says_what_to_install(panel):
    text = panel._repr_mimebundle_()["text/plain"]
    assert "pip install jupyterlab_widgets" in text
    assert text.endswith("run the cell.")  # not cut off


def test_a_narrow_screen_has_one_column(panel):
    rows, _, pictures = panel.children
    for box in (rows, pictures):
        assert "minmax(min(100%, 3" in box.layout.grid_template_columns
    assert len(pictures.children) == 3


@pytest.mark.slow
def test_back_is_back(panel):
    sliders, line, image = parts(panel)
    before = image.value, line.value
    sliders["alpha"].value = 1.0
    sliders["alpha"].value = 0.05
    assert (image.value, line.value) == before


@pytest.mark.slow
def test_a_verdict_turns(panel):
    sliders, line, _ = parts(panel)
    sliders["alpha"].value = 2.0
    assert ">unstable</b>" in line.value


@pytest.mark.slow
def test_too_many_flows_are_a_sentence_not_a_crash(panel):
    sliders, line, image = parts(panel)
    before = image.value
    sliders["flows"].value = 1000.0  # 0.8 segments each
    assert "a window of 0.83 segments is smaller than any p' up to 1" in line.value
    assert image.value == before
    sliders["flows"].value = 300.0  # 2.8
    assert "fewer than 4" in line.value
    assert image.value != before


@pytest.mark.slow
def test_scalable_senders_under_the_dual_queue():
    panel = pf.explore(
        pf.presets.linux_dualpi2(), pf.Scalable(), rtt="20ms", capacity="50Mbit/s", flows=4
    )
    _, line, _ = parts(panel)
    window = 5e7 / 12000 * 0.020 / 4
    aqm = pf.CoupledPi2(alpha=41 / 256, beta=819 / 256, update_interval=0.016, k=2.0)
    loop = pf.Loop(pf.Scalable(), aqm, rtt=0.020, p=2 / window, update="sampled")
    assert f"<b>{loop.margins().gain_margin_db:.2f} dB</b>" in line.value


@pytest.mark.slow
def test_a_beginning_beyond_the_range_widens_it():
    panel = pf.explore(pf.Pi2(alpha=20.0, beta=200.0, update_interval="1ms"), rtt="2ms")
    sliders, _, _ = parts(panel)
    assert sliders["alpha"].value == 20.0
    assert sliders["rtt"].value == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("alpha", 0.047998), ("beta", 2.5146), ("update_interval", 16.6667), ("rtt", 99.5)],
)
def test_the_beginning_lies_on_a_step(name, value):
    """The browser shows, and sends back, the nearest step."""
    slider = make_slider(widgets, name, value)
    place = np.log10(value) if name in ("alpha", "beta") else value
    steps = (place - slider.min) / slider.step
    assert steps == pytest.approx(round(steps), abs=1e-9)
    assert slider.min <= place <= slider.max
    assert 40 < (slider.max - slider.min) / slider.step <= 200


def test_numbers_of_flows_are_whole_and_have_the_beginning():
    slider = make_slider(widgets, "flows", 7.0)
    counts = [value for _, value in slider.options]
    assert counts == sorted(counts)
    assert 7.0 in counts
    assert all(count == round(count) for count in counts)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"rtt": [0.1, 0.2]}, pf.QuantityError),
        ({"rtt": "fast"}, pf.QuantityError),
        ({"flows": 0}, pf.DomainError),
        ({"aqm": pf.CoDel()}, pf.UnsupportedError),
        ({"capacity": "1kbit/s"}, pf.DomainError),
    ],
)
def test_no_beginning(arguments, error):
    with pytest.raises(error):
        pf.explore(**arguments)


def test_without_ipywidgets_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"run pip install 'pi2-fluid\[notebook\]'") as caught:
        pf.explore()
    assert caught.value.name == "ipywidgets"
