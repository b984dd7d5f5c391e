"""The sliders of the explorer: what can be chosen, and in which steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

_PER_DECADE: Final = 50  # of alpha and beta
#: Ends and step: of alpha and beta decades in Hz, of the times milliseconds.
_RANGES: Final = {
    "alpha": (-3.0, 1.0, 1.0 / _PER_DECADE),
    "beta": (-2.0, 2.0, 1.0 / _PER_DECADE),
    "update_interval": (4.0, 64.0, 0.5),
    "rtt": (10.0, 300.0, 2.0),
}
_LABELS: Final = {
    "alpha": "alpha [Hz]",
    "beta": "beta [Hz]",
    "update_interval": "T [ms]",
    "rtt": "RTT [ms]",
    "flows": "flows",
}
# Whole, and about even in the logarithm.
_COUNTS: Final = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80),
    *(100, 120, 150, 200, 250, 300, 400, 500, 600, 800, 1000),
)


def make_slider(widgets: ModuleType, name: str, value: float) -> Any:
    """Return the slider of one number, on whose steps `value` lies.

    Between two steps the browser would show the nearer one, and send it back.

    Parameters
    ----------
    widgets : module
        ipywidgets.
    name : {"alpha", "beta", "update_interval", "rtt", "flows"}
    value : float
        Where it begins: Hz, ms, or a count. Beyond the range it widens it.
    """
    look = {
        "description": _LABELS[name],
        "style": {"description_width": "76px"},
        "layout": {"width": "98%"},
    }
    if name == "flows":
        counts = sorted({*map(float, _COUNTS), value})
        slider = widgets.SelectionSlider(
            value=value, options=[(f"{count:g}", count) for count in counts], **look
        )
    elif name in ("alpha", "beta"):
        low, high, step = _aligned(float(np.log10(value)), *_RANGES[name])
        slider = widgets.FloatLogSlider(
            value=value, min=low, max=high, step=step, readout_format=".3g", **look
        )
    else:
        low, high, step = _aligned(value, *_RANGES[name])
        slider = widgets.FloatSlider(
            value=value, min=low, max=high, step=step, readout_format=".1f", **look
        )
    slider.add_class(f"pi2-{name}")
    return slider


def _aligned(value: float, low: float, high: float, step: float) -> tuple[float, float, float]:
    """The ends next to `low` and `high` that lie whole steps from `value`, which is inside."""
    below, above = max(int((value - low) / step), 0), max(int((high - value) / step), 0)
    return value - below * step, value + above * step, step
