"""Drawing. Takes arrays, returns the artists, never shows a window."""

from pi2_fluid.plot.coexistence import draw_rate_ratio
from pi2_fluid.plot.designs import draw_outcomes, draw_trade_off
from pi2_fluid.plot.explorer import LoopCurves, LoopPicture
from pi2_fluid.plot.loops import (
    draw_bode,
    draw_eigenloci,
    draw_nyquist,
    draw_root_locus,
    mark_outside,
    mark_unstable,
    new_axes,
    show_percent,
)
from pi2_fluid.plot.maps import draw_contours, draw_margin_map, draw_margin_maps
from pi2_fluid.plot.measurements import draw_measured, draw_range
from pi2_fluid.plot.page import (
    COLORS,
    STYLE,
    label_curve,
    page_style,
    sample_decades,
    save_figure,
    save_picture,
    write_caption,
    write_corner,
    write_numbers,
)
from pi2_fluid.plot.pairs import draw_fluid, draw_runs, scale_root
from pi2_fluid.plot.trajectories import draw_ribbon, draw_trajectory

__all__ = [
    "COLORS",
    "STYLE",
    "LoopCurves",
    "LoopPicture",
    "draw_bode",
    "draw_contours",
    "draw_eigenloci",
    "draw_fluid",
    "draw_margin_map",
    "draw_margin_maps",
    "draw_measured",
    "draw_nyquist",
    "draw_outcomes",
    "draw_range",
    "draw_rate_ratio",
    "draw_ribbon",
    "draw_root_locus",
    "draw_runs",
    "draw_trade_off",
    "draw_trajectory",
    "label_curve",
    "mark_outside",
    "mark_unstable",
    "new_axes",
    "page_style",
    "sample_decades",
    "save_figure",
    "save_picture",
    "scale_root",
    "show_percent",
    "write_caption",
    "write_corner",
    "write_numbers",
]
