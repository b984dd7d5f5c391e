"""What comes with the package by name: experiments of the papers, and families of traffic.

They are the TOML files in ``network/scenarios`` and ``network/families``. The first line of a
scenario is a comment that says what it is; the comments below it give the source, and what of it
had to be guessed. A family says so in its keys. Names and descriptions cost no more than reading
the files.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi2_fluid.errors import QuantityError, show_value, suggest
from pi2_fluid.network.mistaken import OF_TC, is_of_tc

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pi2_fluid.network.network import Network
    from pi2_fluid.network.scenario import Scenario


@cache
def scenario_names() -> tuple[str, ...]:
    """Return the names of the package's scenarios, in alphabetical order.

    Examples
    --------
    >>> [name for name in scenario_names() if "fig13" in name]
    ['paganini_fig13', 'pi2_fig13_pi2', 'pi2_fig13_pie']
    """
    return _names("scenarios")


@cache
def traffic_names() -> tuple[str, ...]:
    """Return the names of the package's families of traffic, in alphabetical order.

    Examples
    --------
    >>> "link" in traffic_names()
    True
    """
    return _names("families")


def named_text(name: str) -> str:
    """Return the TOML text of a scenario that comes with the package, with its comments.

    Parameters
    ----------
    name : str
        One of `scenario_names`.

    Raises
    ------
    QuantityError
        If there is none of that name, with the nearest ones.
    """
    names = scenario_names()
    if name not in names:
        raise QuantityError(
            f"scenario = {show_value(name)} is unknown: give {suggest(name, names, most=6)}."
        )
    return _text("scenarios", name)


def traffic_text(word: str) -> str:
    """Return the TOML text of a family that comes with the package, with its comments.

    Parameters
    ----------
    word : str
        One of `traffic_names`.

    Raises
    ------
    QuantityError
        If there is none of that name, with all of them.
    """
    names = traffic_names()
    if word not in names:
        raise QuantityError(f"traffic = {show_value(word)} is unknown: give {suggest('', names)}.")
    return _text("families", word)


def describe_traffic(word: str) -> str:
    """Return what a family that comes with the package is, in one line.

    Examples
    --------
    >>> describe_traffic("link")
    'A link of which only numbers are known'
    """
    import tomllib  # 0.01 s, and what Python describes needs none

    return str(tomllib.loads(traffic_text(word))["title"])


def _folder() -> Traversable:
    from importlib.resources import files  # which reads archives, too

    return files("pi2_fluid.network")


def _names(folder: str) -> tuple[str, ...]:
    names = (path.name for path in _folder().joinpath(folder).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def _text(folder: str, name: str) -> str:
    path = _folder().joinpath(folder).joinpath(f"{name}.toml")
    return path.read_text(encoding="utf-8")


def schema_text() -> str:
    """Return the JSON Schema of scenarios, networks and families as TOML, for editors.

    Examples
    --------
    >>> import json
    >>> sorted(json.loads(schema_text())["properties"])[:4]
    ['aqm', 'cells', 'changes', 'combine']
    """
    path = _folder().joinpath("scenario.schema.json")
    return path.read_text(encoding="utf-8")


def named_scenario(name: str) -> Scenario:
    """Return a scenario that comes with the package.

    Parameters
    ----------
    name : str
        One of `scenario_names`.

    Raises
    ------
    QuantityError
        If there is none of that name, with the nearest ones.

    Examples
    --------
    >>> named_scenario("pi2_fig11c_pi2").class_names
    ('reno', 'cbr')
    """
    from pi2_fluid.network.scenario import Scenario

    return Scenario.from_toml(named_text(name))


def describe_scenario(name: str) -> str:
    """Return what a scenario that comes with the package is, in one line.

    Examples
    --------
    >>> describe_scenario("pi2_fig11a_pie")
    "PI2 paper (CoNEXT'16), Figure 11a, PIE: 5 Reno flows"
    """
    return named_text(name).partition("\n")[0].removeprefix("# ")


def find_scenario(source: Any) -> Scenario:
    """Return a scenario that is given as such, as a TOML file, or by name.

    Parameters
    ----------
    source : Scenario, str or Path
        A text is a file, "-" standard input, or, where no such file exists, one of
        `scenario_names`.

    Raises
    ------
    ScenarioError
        If it is none of these.
    QuantityError
        If there is neither a file nor a scenario of that name.
    OSError, QuantityError, DomainError, ScenarioError
        As `Scenario.load`.

    Examples
    --------
    >>> find_scenario("pi2_fig11a_pie").duration
    105.0
    """
    from pi2_fluid.network.scenario import Scenario, require_scenario

    if isinstance(source, Path):
        return Scenario.load(source)
    if not isinstance(source, str):
        require_scenario(source)
        found: Scenario = source
        return found
    if is_file(source):
        return Scenario.load(source)
    if source not in scenario_names() and ("/" in source or "." in source):
        Scenario.load(source)  # says that there is no such file
    try:
        return named_scenario(source)
    except QuantityError as error:
        if is_of_tc(source):
            raise QuantityError(f"{show_value(source)} {OF_TC}") from None
        raise QuantityError(f"{source} is no file, and {error}") from None


def find_network(source: str) -> Network:
    """Return a network that is given as a TOML file, of it or of a scenario, or by name.

    Parameters
    ----------
    source : str
        As of `find_scenario`, whose network is meant where it is one.

    Raises
    ------
    OSError, QuantityError, DomainError, ScenarioError
        As `find_scenario`, and as `Network.load`.

    Examples
    --------
    >>> find_network("pi2_fig11a_pie").class_names
    ('reno',)
    """
    from pi2_fluid.network.network import Network
    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.network.text import in_file, is_scenario, read_text

    if not is_file(source):
        return find_scenario(source).network
    name, text = read_text(source)
    with in_file(name, source):
        return Scenario.from_toml(text).network if is_scenario(text) else Network.from_toml(text)


def is_file(given: str) -> bool:
    """Return whether a text is standard input ("-"), or a file that exists; a folder is none."""
    return given == "-" or (Path(given).exists() and not Path(given).is_dir())
