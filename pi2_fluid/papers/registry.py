"""The figures there are: of four papers, in their order, and of our own."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Final

from pi2_fluid.errors import QuantityError, show_value, suggest

if TYPE_CHECKING:
    from pi2_fluid.papers.recipe import Recipe

#: Paper and number -> module that makes the figure, below this folder.
FIGURES: Final = {
    "pi2:4": "pi2.fig04",
    "pi2:5": "pi2.fig05",
    "pi2:6": "pi2.fig06",
    "pi2:7": "pi2.fig07",
    "pi2:11": "pi2.fig11",
    "pi2:12": "pi2.fig12",
    "pi2:13": "pi2.fig13",
    "pi2:14": "pi2.fig14",
    "pi2:15": "pi2.fig15",
    "pi2:16": "pi2.fig16",
    "pi2:17": "pi2.fig17",
    "pi2:18": "pi2.fig18",
    "pi2:19": "pi2.fig19",
    "pi2:20": "pi2.fig20",
    "pi2:diagrams": "pi2.diagrams",
    "pi2:table1": "pi2.table1",
    "pi2:appendix": "pi2.appendix",
    "pie:1": "pie.fig01",
    "pie:2": "pie.fig02",
    "pie:4": "pie.fig04",
    "pie:5": "pie.fig05",
    "pie:6": "pie.fig06",
    "pie:7": "pie.fig07",
    "pie:8": "pie.fig08",
    "pie:10": "pie.fig10",
    "pie:11": "pie.fig11",
    "pie:13": "pie.fig13",
    "pie:14": "pie.fig14",
    "pie:15": "pie.fig15",
    "pie:16": "pie.fig16",
    "paganini:1": "paganini.fig01",
    "paganini:2": "paganini.fig02",
    "paganini:5": "paganini.fig05",
    "paganini:6": "paganini.fig06",
    "paganini:7": "paganini.fig07",
    "paganini:8": "paganini.fig08",
    "paganini:9": "paganini.fig09",
    "paganini:10": "paganini.fig10",
    "paganini:11": "paganini.fig11",
    "paganini:12": "paganini.fig12",
    "paganini:13": "paganini.fig13",
    "thesis:4.2": "thesis.fig4_2",
    "thesis:4.3": "thesis.fig4_3",
    "thesis:4.5": "thesis.fig4_5",
    "thesis:4.6": "thesis.fig4_6",
    "thesis:4.8": "thesis.fig4_8",
    "thesis:4.9": "thesis.fig4_9",
    "thesis:4.10": "thesis.fig4_10",
    "thesis:4.11": "thesis.fig4_11",
    "ours:bufferbloat": "ours.bufferbloat",
    "ours:phase_portrait": "ours.phase_portrait",
    "ours:across_the_margin": "ours.across_the_margin",
    "ours:stability_atlas": "ours.stability_atlas",
    "ours:designed_gains": "ours.designed_gains",
    "ours:what_gains_buy": "ours.what_gains_buy",
    "ours:six_decibels": "ours.six_decibels",
    "ours:echo_modes": "ours.echo_modes",
    "ours:chains": "ours.chains",
    "ours:rem_loads": "ours.rem_loads",
    "ours:bursts": "ours.bursts",
}
#: How a paper is named on its figures.
TITLES: Final = {
    "pi2": "PI2 paper",
    "pie": "PIE paper (HPSR'13)",
    "paganini": "Paganini et al. (2002)",
    "thesis": "ns-3 PI2 thesis",
    "ours": "",
}

#: What is no figure of its own: block diagrams, a table, constants.
_OTHERS: Final = {
    "pi2:diagrams": "Figures 1, 2, 3, 8, 9",
    "pi2:table1": "Table 1",
    "pi2:appendix": "appendices A and B",
}
#: Figures that are drawn on one page.
_TOGETHER: Final = {f"pi2:{number}": "pi2:diagrams" for number in (1, 2, 3, 8, 9)}


def file_name(figure: str) -> str:
    """Return what a figure's files are called.

    Examples
    --------
    >>> [file_name(name) for name in ("pi2:7", "thesis:4.2", "pi2:diagrams", "ours:chains")]
    ['pi2_fig07', 'thesis_fig4_2', 'pi2_diagrams', 'chains']
    """
    paper, _, number = figure.partition(":")
    if paper == "ours":
        return number
    if not number[0].isdecimal():
        return f"{paper}_{number}"
    whole, _, rest = number.partition(".")
    return f"{paper}_fig{whole}_{rest}" if rest else f"{paper}_fig{_two_digits(number)}"


def _two_digits(number: str) -> str:
    return f"0{number}" if not number[1:2].isdecimal() else number


def find_figure(name: str | int) -> str:
    """Return the paper and number of a figure.

    Parameters
    ----------
    name : str or int
        As there, "pi2:15"; as its files are called, "pi2_fig15"; or its number or name alone, where
        one paper has it.

    Raises
    ------
    QuantityError
        If there is no such figure, or several papers have one of this number.

    Examples
    --------
    >>> [find_figure(name) for name in (17, "pie_fig13", "chains", "thesis:4.2", "pi2:8")]
    ['pi2:17', 'pie:13', 'ours:chains', 'thesis:4.2', 'pi2:diagrams']
    """
    text = str(name)
    alike = [one for one in (*FIGURES, *_TOGETHER) if one.partition(":")[2] == text]
    if len(alike) > 1:
        raise QuantityError(
            f"several papers have a figure {show_value(name)}: give {' or '.join(alike)}."
        )
    text = alike[0] if alike else text
    text = _TOGETHER.get(text, text)
    for figure in FIGURES:
        if text in (figure, file_name(figure)):
            return figure
    near = suggest(text, [*FIGURES, *map(file_name, FIGURES)])
    raise QuantityError(
        f"there is no figure {show_value(name)}: give {near}, or another of those that"
        " `pi2-fluid figure` lists."
    )


def find_figures(names: str | int | Iterable[str | int]) -> list[str]:
    """Return figures by any of their names, each once; a paper's name is all of its figures.

    Raises
    ------
    QuantityError
        If a name is none of a figure, or there is none.

    Examples
    --------
    >>> find_figures(["ours", "pi2:7"])[-2:]
    ['ours:bursts', 'pi2:7']
    """
    given = [names] if isinstance(names, (str, int)) else list(names)
    if not given:
        raise QuantityError("no figure was named: give numbers such as pi2:15, or 'all'.")
    found: dict[str, None] = {}
    for name in given:
        if name == "all" or name in TITLES:
            found |= dict.fromkeys(f for f in FIGURES if name == "all" or f.startswith(f"{name}:"))
        else:
            found[find_figure(name)] = None
    return list(found)


def recipe_of(figure: str) -> Recipe:
    """Return how a figure is made."""
    recipe: Recipe = import_module(f"pi2_fluid.papers.{FIGURES[figure]}").RECIPE
    return recipe


def page_title(figure: str) -> str:
    """Return what stands in the corner of a figure, and above its page.

    Examples
    --------
    >>> [page_title(name) for name in ("pi2:7", "pi2:table1", "ours:echo_modes")]
    ['PI2 paper, Figure 7', 'PI2 paper, Table 1', 'Echo modes']
    """
    paper, _, number = figure.partition(":")
    if paper == "ours":
        return number.replace("_", " ").capitalize()
    return f"{TITLES[paper]}, {_OTHERS.get(figure, f'Figure {number}')}"
