"""An explorer: alpha, beta, T, round-trip time and number of flows on sliders, in a notebook.

What is computed for one setting, `explorer_curves`, knows nothing of widgets; what is drawn of it,
`pi2_fluid.plot.LoopPicture`, knows nothing of loops.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.apps.explorer.sliders import make_slider
from pi2_fluid.errors import (
    AssumptionWarning,
    DomainError,
    QuantityError,
    SolverError,
    UnsupportedError,
    show_value,
)
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.loop.margins import Margins
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.loop.transient import sampled_step
from pi2_fluid.plot import LoopCurves, LoopPicture
from pi2_fluid.records.record import require_scalars
from pi2_fluid.units import LONG_PATH, validate_number

if TYPE_CHECKING:
    from types import ModuleType

    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import FloatArray, Quantity

_POINTS: Final = 240  # frequencies
_LOWEST: Final = 0.01  # of w R
_HIGHEST: Final = 20.0  # beyond, the phase turns faster than the points follow it
_LONGEST: Final = 40.0  # round-trip times of the step response
_UPDATES: Final = 800  # of it at most: the cost grows with them
_FARTHEST: Final = 20.0
_ALIASES: Final = 6  # on each side, besides those that T/R asks for: seven digits
_BITS: Final = 8.0
_SLIDER, _PICTURE = 300, 310  # px, of which one is at least wide
#: Shown in the place of the sliders; ipywidgets cuts it off after 110 signs.
_NO_WIDGETS: Final = (
    "No sliders here: pip install jupyterlab_widgets beside JupyterLab, restart it, run the cell."
)
_COLORS: Final = {"stable": "#00664B", "unstable": "#8B1A1A", "undecided": "#7A5200"}


@dataclass(frozen=True)
class Curves:
    """One loop as the explorer shows it.

    Attributes
    ----------
    w, response, phase_deg : array (n,)
        Frequency (rad/s), L(jw) of the sampled loop, and its continuous phase (deg).
    t, step : array (m,)
        Time (s), and the response of the queue delay to a unit step of what it follows.
    margins : Margins
    verdict : {"stable", "unstable", "undecided"}
    window : float
        Of one flow (segments).
    """

    w: Any
    response: Any
    phase_deg: Any
    t: Any
    step: Any
    margins: Margins
    verdict: str
    window: float


def explorer_curves(
    aqm: PiFamily,
    sender: Sender,
    rtt: float,
    p_prime: float,
    w: FloatArray | None = None,
    t: FloatArray | None = None,
) -> Curves:
    """Return Bode and Nyquist curve, step response and margins of one sampled loop.

    Parameters
    ----------
    aqm : Pi, Pie, Pi2, CoupledPi2 or DualPi2
        Of the dual queue it is the controller's loop through one class of senders, as if it had one
        queue.
    sender : Sender
    rtt : float
        Round-trip time, queue included (s).
    p_prime : float
        The load, in (0, 1].
    w : array, optional
        Frequencies (rad/s), rising, at most pi/T; by default 240 up to 20/R or pi/T, from where the
        integrator alone is left.
    t : array, optional
        Times (s); by default those of the updates up to 40 round-trip times, 800 at most, and no
        further than the response of an unstable loop has grown to 20.

    Raises
    ------
    DomainError, QuantityError, UnsupportedError, SolverError
        As `Loop` for these arguments.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> found = explorer_curves(pf.Pi2(), pf.Reno(), 0.1, 0.1)
    >>> print(f"{found.margins.gain_margin_db:.2f} dB, {found.window:.1f} segments")
    3.46 dB, 14.1 segments
    """
    rtt = validate_number(rtt, "time", "rtt", usual=LONG_PATH)
    loop = Loop(_one_sender(sender), _one_queue(aqm), rtt=rtt, p_prime=p_prime, update="sampled")
    interval = float(aqm.update_interval)
    if w is None:
        zero = float(aqm.alpha / (interval * (aqm.beta + aqm.alpha / 2.0)))
        low = min(_LOWEST / rtt, zero / 10.0, 0.1 / interval)
        w = np.geomspace(low, min(_HIGHEST / rtt, np.pi / interval), _POINTS)
    if t is None:
        updates = min(int(np.ceil(_LONGEST * rtt / interval)), _UPDATES)
        aliases = _ALIASES + int(np.ceil(interval / rtt))
        step = sampled_step(loop.linear, updates, aliases=aliases, farthest=_FARTHEST)
        t = interval * np.arange(step.size, dtype=float)
    else:
        step = np.asarray(loop.step(t))
    response = np.asarray(loop(1j * w))
    phase = np.degrees(np.unwrap(np.angle(response)))
    # At low frequency it lies between -90, one integrator, and a little below -180, two.
    phase += 360.0 * np.round((-135.0 - phase[0]) / 360.0)
    window = float(np.asarray(loop.operating_point.window))
    # Margins.verdict would also search for the smallest distance from -1, at twice the cost.
    verdict = {0: "stable", -1: "undecided"}.get(int(np.asarray(loop.nyquist_count())), "unstable")
    return Curves(w, response, phase, t, step, loop.margins(), verdict, window)


def _one_sender(sender: object) -> Sender:
    found = Reno() if sender is None else sender
    if not isinstance(found, Sender):
        raise QuantityError(f"sender = {show_value(sender)} is no sender: give one, e.g. Reno().")
    require_scalars(found)
    return found


def _one_queue(aqm: object) -> PiFamily:
    if not has_gains(aqm):
        raise UnsupportedError(
            f"aqm = {show_value(aqm)} has no alpha, beta and update_interval: give Pi, Pie, Pi2,"
            " CoupledPi2 or DualPi2."
        )
    require_scalars(aqm)
    return aqm.in_one_queue()


def explore(
    aqm: PiFamily | None = None,
    sender: Sender | None = None,
    *,
    rtt: Quantity = "100ms",
    flows: float = 10.0,
    capacity: Quantity = "100Mbit/s",
    packet_size: Quantity = "1500B",
) -> Any:
    """Return sliders for alpha, beta, T, RTT and flows, and the loop that follows them.

    Bode plot, Nyquist curve and step response of the exact sampled loop, and a line with margins
    and verdict. In grey is the loop with which the sliders began. The capacity is fixed, so that
    more flows are a higher load, and a longer RTT is a lower one. RTTs are with the queue, the
    target of the queue included.

    Parameters
    ----------
    aqm : Pi, Pie, Pi2, CoupledPi2 or DualPi2, optional
        Where the sliders begin; by default `Pi2`, the paper's gains.
    sender : Sender, optional
        By default `Reno`.
    rtt : float or str
        Round-trip time, the target of the queue included (s).
    flows : float
        How many share the link.
    capacity : float or str
        Of the link (bit/s).
    packet_size : float or str

    Returns
    -------
    ipywidgets.VBox
        Show it in a notebook by making it the last line of a cell. It needs a running kernel; a
        notebook that is only looked at shows nothing there.

    Raises
    ------
    ImportError
        Without ipywidgets.
    DomainError, QuantityError, UnsupportedError
        If the beginning is no loop.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> panel = pf.explore(pf.tune("100ms").aqm, capacity="1Gbit/s")  # doctest: +SKIP
    """
    widgets = _import_widgets()
    aqm, sender = _one_queue(Pi2() if aqm is None else aqm), _one_sender(sender)
    first = {
        "alpha": float(aqm.alpha),
        "beta": float(aqm.beta),
        "update_interval": 1e3 * float(aqm.update_interval),
        "rtt": 1e3 * validate_number(rtt, "time", "rtt", usual=LONG_PATH),
        "flows": validate_number(flows, "number", "flows"),
    }
    bits = _BITS * validate_number(packet_size, "size", "packet_size")
    packets = validate_number(capacity, "rate", "capacity") / bits

    def curves_at(values: dict[str, float]) -> Curves:
        queue = replace(
            aqm,
            alpha=values["alpha"],
            beta=values["beta"],
            update_interval=1e-3 * values["update_interval"],
        )
        seconds = 1e-3 * values["rtt"]
        load = _load(sender, seconds, packets / values["flows"])
        return explorer_curves(queue, sender, seconds, load)

    return _assemble(widgets, first, curves_at, bits * packets)


def _assemble(
    widgets: ModuleType, first: dict[str, float], curves_at: Callable[[dict[str, float]], Curves],
    capacity: float,
) -> Any:  # fmt: skip
    """Put sliders, picture and line together, and let the two follow the sliders."""
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        beginning = curves_at(first)
    picture = LoopPicture(_shown(beginning, first["rtt"]))
    sliders = {name: make_slider(widgets, name, value) for name, value in first.items()}
    images = [
        widgets.Image(format="png", layout={"width": "100%", "max_width": f"{width}px"})
        for width in picture.widths
    ]
    for image in images:
        image.add_class("pi2-picture")
    line = widgets.HTML()
    line.add_class("pi2-margins")

    def follow(_: object = None) -> None:
        values = {name: float(slider.value) for name, slider in sliders.items()}
        try:
            with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
                found = curves_at(values)
            drawn = picture.update(_shown(found, values["rtt"]))
            for image, value in zip(images, drawn, strict=True):
                image.value = value
            line.value = _describe(found, capacity / values["flows"])
        except (DomainError, SolverError) as error:  # the picture stays what it was
            line.value = f'<span style="color:{_COLORS["undecided"]}">{error}</span>'

    for slider in sliders.values():
        slider.observe(follow, "value")
    follow()
    rows, pictures = (
        widgets.GridBox(
            parts,
            layout={
                # As many beside one another as fit; no wider than a narrow screen.
                "grid_template_columns": f"repeat(auto-fit, minmax(min(100%, {least}px), 1fr))",
                "width": "100%",
            },
        )
        for parts, least in ((list(sliders.values()), _SLIDER), (images, _PICTURE))
    )
    return _explorer_of(widgets)([rows, line, pictures], layout={"max_width": "1100px"})


def _explorer_of(widgets: ModuleType) -> type[Any]:
    """A box that says what is missing where only its text is shown."""

    class Explorer(widgets.VBox):  # type: ignore[misc,name-defined]
        def __repr__(self) -> str:
            return _NO_WIDGETS

    return Explorer


def _shown(found: Curves, rtt_ms: float) -> LoopCurves:
    margins = found.margins
    return LoopCurves(
        found.w,
        found.response,
        found.phase_deg,
        found.t / (1e-3 * rtt_ms),
        found.step,
        (float(margins.gain_crossover), float(margins.phase_margin_deg)),
        (float(margins.phase_crossover), float(margins.gain_margin_db)),
    )


def _describe(found: Curves, rate: float) -> str:
    margins, verdict = found.margins, found.verdict
    doubt = ", fewer than 4: timeouts rule there, not this model" if found.window < 4.0 else ""
    return (
        f'<b style="color:{_COLORS[verdict]}">{verdict}</b>: gain margin'
        f" <b>{margins.gain_margin_db:.2f} dB</b>, phase margin"
        f" <b>{margins.phase_margin_deg:.1f}°</b>. Each flow {rate / 1e6:.3g} Mbit/s, a window of"
        f" {found.window:.1f} segments{doubt}."
    )


def _load(sender: Sender, rtt: float, rate: float) -> float:
    """The p' at which a flow sends `rate` segments per second."""
    try:
        p = float(sender.equilibrium(rtt, rate))
    except DomainError:
        p = np.inf
    if p > 1.0:
        raise DomainError(
            f"a window of {rate * rtt:.2g} segments is smaller than any p' up to 1 gives: take"
            " fewer flows, a longer RTT or more capacity."
        )
    return p**0.5 if sender.signal == "classic" else p


def _import_widgets() -> ModuleType:
    try:
        import ipywidgets
    except ImportError as error:
        raise ImportError(
            "the explorer needs ipywidgets, which is not installed: run pip install"
            " 'pi2-fluid[notebook]'.",
            name="ipywidgets",
        ) from error
    found: ModuleType = ipywidgets
    return found
