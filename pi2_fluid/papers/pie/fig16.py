"""Figure 16 of the PIE paper: the loop's bandwidth over the load, by pair of gains."""

from __future__ import annotations

from pathlib import Path

from pi2_fluid.papers.pie.claims import lower_gains
from pi2_fluid.papers.pie.loads import curves, draw_over_loads, setting
from pi2_fluid.plot import page_style, save_figure, write_caption

__all__ = ["draw"]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows, claim = curves(), lower_gains()
    computed = claim.computed.replace("-", "\N{MINUS SIGN}")
    with page_style():
        figure = Figure(figsize=(9.4, 5.0))
        axes = draw_over_loads(figure, rows, "gain_crossover_rad_s")
        axes[0].set(ylabel="loop frequency: gain crossover [rad/s]", yscale="log", ylim=(0.05, 60))
        axes[1].legend(title="α:β [Hz]", loc="upper right")
        write_caption(
            figure,
            "Smaller gains answer more slowly; auto-tuning goes back to larger ones",
            note=f"{setting()}\n{claim.in_short()}\nκ = αR/(2pT): {computed}",
            source="PIE paper (HPSR'13), Figure 16",
        )
        return save_figure(figure, out / "pie_fig16", rows)
