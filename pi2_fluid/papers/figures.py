"""Figures of the PI2 paper, of PIE's, of Paganini's and five of our own, each by a short module.

Every figure leaves the numbers behind it as CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from pi2_fluid.errors import QuantityError

__all__ = ["FIGURES", "Figure", "figures"]

# Number in the PI2 paper (CoNEXT'16), or the name of another -> module that draws it.
_MODULES: Final = {
    "4": "pi2.fig04",
    "5": "pi2.fig05",
    "6": "pi2.fig06",
    "7": "pi2.fig07",
    "11": "pi2.fig11",
    "12": "pi2.fig12",
    "13": "pi2.fig13",
    "6_packets": "pi2.fig06_packets",
    "11_packets": "pi2.fig11_packets",
    "12_packets": "pi2.fig12_packets",
    "13_packets": "pi2.fig13_packets",
    "14": "pi2.fig14",
    "15": "pi2.fig15",
    "pie_fig13": "pie.fig13",
    "pie_fig14": "pie.fig14",
    "pie_fig15": "pie.fig15",
    "pie_fig16": "pie.fig16",
    "paganini_fig01": "paganini.fig01",
    "paganini_fig02": "paganini.fig02",
    "paganini_fig05": "paganini.fig05",
    "paganini_fig05_packets": "paganini.fig05_packets",
    "paganini_fig06": "paganini.fig06",
    "paganini_fig07": "paganini.fig07",
    "paganini_fig08": "paganini.fig08",
    "paganini_fig09": "paganini.fig09",
    "paganini_fig10": "paganini.fig10",
    "paganini_fig11": "paganini.fig11",
    "paganini_fig12": "paganini.fig12",
    "paganini_fig13": "paganini.fig13",
    "phase_portrait": "ours.phase_portrait",
    "across_the_margin": "ours.across_the_margin",
    "echo_modes": "ours.echo_modes",
    "chains": "ours.chains",
    "rem_loads": "ours.rem_loads",
}
#: The same -> what the figure's files are called: by paper and figure, or by the name of our own.
FIGURES: Final = {
    number: module.removeprefix("ours.").replace(".", "_") for number, module in _MODULES.items()
}
#: What a figure's files are called -> its number.
_NUMBER_OF: Final = {name: number for number, name in FIGURES.items()}


class Figure(NamedTuple):
    """One drawn figure."""

    name: str
    """What its files are called."""
    files: tuple[Path, ...]
    """Pictures (PNG, SVG, PDF) and the plotted numbers (CSV)."""


def figures(
    names: str | int | Iterable[str | int] = "all",
    out: str | Path = "figures",
    *,
    progress: Callable[[str], None] | None = None,
) -> list[Figure]:
    """Draw figures into a folder.

    Parameters
    ----------
    names : "all", or one or several of these
        4, 5, 6, 7, 11, 12, 13, 14, 15: numbers of figures in the PI2 paper, of which 6, 11, 12 and
        13 are fluids; 6_packets, 11_packets, 12_packets, 13_packets: the same packet by packet;
        pie_fig13 to pie_fig16: the loop figures of the PIE paper (HPSR'13);
        paganini_fig01, paganini_fig02, paganini_fig05, paganini_fig05_packets, paganini_fig06
        to paganini_fig13: Figures 1, 2 and 5 to 13 of Paganini and others (2002), of which 5 is a
        fluid and, as those after it, packet by packet;
        phase_portrait, across_the_margin, echo_modes, chains, rem_loads: our own. Also as their
        files are called: pi2_fig07, pi2_fig12_packets.
    out : path, default "figures"
        Folder for the files; made if it does not exist. Files of the same name are replaced.
    progress : callable, optional
        Called with one line of text before each figure.

    Returns
    -------
    list of Figure
        Records (name, files) in the order of `names`, each figure once.

    Raises
    ------
    QuantityError
        If a name is unknown; nothing is drawn then.
    OSError
        If the folder cannot be written to.

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), Figures 4 to 7 and 11 to 15; PIE paper (HPSR'13), Figures
    13 to 16; Paganini, Wang, Low and Doyle (2002), Figures 1, 2 and 5 to 13.
    """
    numbers = _numbers(names)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for number in numbers:
        name = FIGURES[number]
        if progress is not None:
            progress(f"drawing {name}")
        files = import_module(f"pi2_fluid.papers.{_MODULES[number]}").draw(folder)
        drawn.append(Figure(name, tuple(files)))
    return drawn


def _numbers(names: str | int | Iterable[str | int]) -> list[str]:
    given = [names] if isinstance(names, (str, int)) else list(names)
    if not given:
        raise QuantityError(f"no figure was named: give {', '.join(FIGURES)} or 'all'.")
    numbers: dict[str, None] = {}
    for name in given:
        text = _NUMBER_OF.get(str(name), str(name))
        if text == "all":
            numbers |= dict.fromkeys(FIGURES)
        elif text in FIGURES:
            numbers[text] = None
        else:
            raise QuantityError(
                f"figure {name!r} is unknown: give any of {', '.join(FIGURES)}, the name of its"
                " file, as pi2_fig07, or 'all'."
            )
    return list(numbers)
