"""What a sweep asks at each point, by what it is given: a run, margins, a rest, a design."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import xarray as xr

from pi2_fluid.design.design import Design
from pi2_fluid.design.tuning import tune
from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import QuantityError, ScenarioError, UnsupportedError, show_value, suggest
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.margins import Margins
from pi2_fluid.loop.matrix.network_loop import NetworkLoop
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.equilibrium import OperatingPoint, equilibrium
from pi2_fluid.network.flows import class_names
from pi2_fluid.network.network import Network
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.paths import dimension_at, replace_path
from pi2_fluid.records.record import Record
from pi2_fluid.results.schema import scenario_text
from pi2_fluid.results.seeds import seed_list
from pi2_fluid.results.summary import summarize
from pi2_fluid.sweeping.axes import SEED, TEXT
from pi2_fluid.sweeping.outcomes import Outcome, attempt, outcome_of, scalars

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Values

__all__ = ["Piece", "Question", "question_of"]

#: What one point, or some that are asked together, came to: their places, and what they have.
Piece = tuple[slice, "tuple[Outcome, frozenset[str]] | Exception"]
_NUMBERS: Final = {
    "rtt": "time",
    "p": "number",
    "p_prime": "number",
    "capacity": "rate",
    "packet_size": "size",
}
_OPTIONS: Final = ("update", "rtt_terms", "transport", "clock", "bunch")
_REQUESTS: Final = {
    **dict.fromkeys(("max_rtt", "max_base_rtt", "min_rtt", "update_interval", "target"), "time"),
    **dict.fromkeys(("gain_margin_db", "phase_margin_deg", "modulus_margin", "k"), "number"),
    **dict.fromkeys(("max_window", "hz"), "number"),
    **dict.fromkeys(("aqm", "update", "objective"), TEXT),
}


class Question(ABC):
    """What is asked at each point; it goes to workers, and so holds values alone."""

    #: What is given, in a word.
    kind: ClassVar[str]
    #: The runs of each point, where they have seeds.
    seeds: tuple[int, ...] = ()

    @abstractmethod
    def dimension(self, name: str) -> str:
        """Return the dimension of a name that may vary, or refuse it."""

    @abstractmethod
    def ask(
        self, columns: Mapping[str, Sequence[Any]], seeds: Sequence[int], count: int
    ) -> Iterator[Piece]:
        """Yield what `count` points have.

        Parameters
        ----------
        columns : mapping of str to sequence
            Of each name the value at each point.
        seeds : sequence of int
            Of each point, where there are seeds.
        count : int
            How many points.
        """

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """Return as text all that results depend on, but the axes."""


class _Pointwise(Question):
    """What is asked point by point."""

    @abstractmethod
    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        """Return what a point has."""

    def ask(
        self, columns: Mapping[str, Sequence[Any]], seeds: Sequence[int], count: int
    ) -> Iterator[Piece]:
        """Yield what each point has."""
        for place in range(count):
            values = {name: column[place] for name, column in columns.items()}
            yield slice(place, place + 1), attempt(functools.partial(self.at, values))


@dataclass(frozen=True)
class Runs(Question):
    """A scenario, run by an engine, and what is kept of it."""

    scenario: Scenario
    engine: Engine
    reduce: Callable[[xr.Dataset], xr.Dataset]
    seeds: tuple[int, ...] = ()

    kind: ClassVar[str] = "scenario"

    def dimension(self, name: str) -> str:
        """Return the dimension of a number of the scenario."""
        return dimension_at(self.scenario, name)

    def ask(
        self, columns: Mapping[str, Sequence[Any]], seeds: Sequence[int], count: int
    ) -> Iterator[Piece]:
        """Yield what each point has.

        Each seed is run alone: of several at once the arrays have the shape of all of them, by
        which sums round.
        """
        for place in range(count):
            values = {name: column[place] for name, column in columns.items()}
            seed = seeds[place : place + 1]
            yield slice(place, place + 1), attempt(functools.partial(self._run, values, seed))

    def _run(
        self, values: Mapping[str, Any], seed: Sequence[int]
    ) -> tuple[Outcome, frozenset[str]]:
        scenario = self.scenario
        for name, value in values.items():
            scenario = replace_path(scenario, name, value)
        engine: Any = self.engine
        if seed:
            engine = dataclasses.replace(engine, seeds=tuple(seed), threads=1)
        found: Any = self.reduce(engine.run(scenario))
        if seed and isinstance(found, xr.Dataset) and SEED in found.dims:
            found = found.isel({SEED: 0}, drop=True)
        return outcome_of(found)

    def describe(self) -> dict[str, str]:
        """Return the scenario as TOML, the engine and the function."""
        engine: Any = self.engine
        if self.seeds:
            engine = dataclasses.replace(engine, seeds=self.seeds, threads=None)
        return {
            "scenario": scenario_text(self.scenario),
            "engine": repr(engine),
            "reduce": _described(self.reduce),
        }


@dataclass(frozen=True)
class Loops(Question):
    """The arguments of a `Loop`, whose margins are asked for, of many at once."""

    arguments: Mapping[str, Any]
    options: Mapping[str, Any]

    kind: ClassVar[str] = "loop"

    @classmethod
    def of(cls, loop: Loop) -> Loops:
        """Return the question that a loop is built for."""
        if loop.shape:
            raise UnsupportedError(
                f"base is an array of loops of shape {loop.shape}: build it with single numbers,"
                " and give the others in over."
            )
        who = {"flows": loop.flows} if loop.flows else {"sender": loop.senders[0]}
        options = {name: getattr(loop, name) for name in _OPTIONS if hasattr(loop, name)}
        return cls({**who, "aqm": loop.aqm, **loop.numbers}, options)

    def dimension(self, name: str) -> str:
        """Return the dimension of a number, or of one of a law or of flows."""
        if name in _NUMBERS and (name in self.arguments or name in {"p", "p_prime"}):
            return _NUMBERS[name]
        return _dimension_in(self.arguments, name, ("sender", "flows", "aqm"))

    def ask(
        self, columns: Mapping[str, Sequence[Any]], seeds: Sequence[int], count: int
    ) -> Iterator[Piece]:
        """Yield what points have, halving them while one of them is refused."""
        arrays = {name: np.array(column, dtype=float) for name, column in columns.items()}
        # What iterates until all of an array have converged depends on who else is in it.
        step = 1 if "flows" in self.arguments or self.options["update"] == "delayed" else count
        waiting = [slice(place, min(place + step, count)) for place in range(0, count, step)][::-1]
        while waiting:
            where = waiting.pop()
            found = attempt(functools.partial(self._margins, arrays, where))
            if isinstance(found, Exception) and where.stop - where.start > 1:
                middle = (where.start + where.stop) // 2
                waiting += [slice(middle, where.stop), slice(where.start, middle)]
            else:
                yield where, found

    def _margins(self, arrays: Mapping[str, Any], where: slice) -> tuple[Outcome, frozenset[str]]:
        arguments = dict(self.arguments)
        for name, other in (("p", "p_prime"), ("p_prime", "p")):
            if name in arrays and other not in arrays:
                arguments.pop(other, None)
        for name, values in arrays.items():
            arguments = _replaced(arguments, name, values[where])
        who = arguments.pop("sender", None) or arguments.pop("flows")
        margins = Loop(who, **arguments, **self.options).margins()
        return _margins_of(margins, where.stop - where.start), frozenset()

    def describe(self) -> dict[str, str]:
        """Return the arguments."""
        return {"loop": repr({**self.arguments, **self.options})}


def _margins_of(margins: Margins, count: int) -> Outcome:
    def each(values: Values) -> FloatArray:
        return np.broadcast_to(np.asarray(values, dtype=float), (count,))

    return scalars(
        gain_margin=(each(margins.gain_margin_db), "dB", "gain margin"),
        phase_margin=(each(margins.phase_margin_deg), "degree", "phase margin, not wrapped"),
        gain_crossover=(each(margins.gain_crossover), "rad/s", "gain crossover frequency"),
        phase_crossover=(each(margins.phase_crossover), "rad/s", "phase crossover frequency"),
        delay_margin=(each(margins.delay_margin), "s", "delay margin"),
        verdict_code=(each(margins.verdict_code), "1", "1 stable, -1 unstable, 0 undecided"),
    )


@dataclass(frozen=True)
class NetworkLoops(_Pointwise):
    """The loop of a network, whose margins are asked for."""

    network: Network
    options: Mapping[str, Any]
    closed: tuple[str, ...]

    kind: ClassVar[str] = "network loop"

    @classmethod
    def of(cls, loop: NetworkLoop) -> NetworkLoops:
        """Return the question that a loop is built for."""
        options = {name: getattr(loop, name) for name in ("update", "rtt_terms", "transport")}
        return cls(loop.network, options, loop.closed)

    def dimension(self, name: str) -> str:
        """Return the dimension of a number of the network."""
        return dimension_at(self.network, name)

    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        """Return the margins at a point."""
        loop: Any = Loop(_with_all(self.network, values), **self.options)
        if self.closed:
            loop = loop.close(*self.closed)
        return _margins_of(loop.margins(), 1), frozenset()

    def describe(self) -> dict[str, str]:
        """Return the network as TOML, if it can be, and the options."""
        return {"network": _network_text(self.network), "loop": repr((self.options, self.closed))}


@dataclass(frozen=True)
class Rests(_Pointwise):
    """A network, of which is asked where it rests."""

    network: Network

    kind: ClassVar[str] = "network"

    def dimension(self, name: str) -> str:
        """Return the dimension of a number of the network."""
        return dimension_at(self.network, name)

    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        """Return the rest at a point."""
        network = _with_all(self.network, values)
        return outcome_of(_rest_dataset(equilibrium(network), network))

    def describe(self) -> dict[str, str]:
        """Return the network as TOML, if it can be."""
        return {"network": _network_text(self.network)}


_OF_LINKS: Final = {
    "load": ("1", "what arrives over the capacity"),
    "controller": ("1", "the controller's own variable"),
    "queue_delay": ("s", "queueing delay"),
    "queue": ("packets", "backlog"),
    "bottleneck": ("1", "1 if the link is full"),
}
_OF_CLASSES: Final = {
    "p": ("1", "probability that a packet is signalled"),
    "p_prime": ("1", "linear form of the signal probability"),
    "window": ("segments", "window of one flow"),
    "rtt": ("s", "round-trip time, queues included"),
    "rate": ("packets/s", "rate of one flow"),
}


def _rest_dataset(point: OperatingPoint | NetworkPoint, network: Network) -> xr.Dataset:
    """Return where a network rests as a Dataset."""
    found: dict[str, Any] = {}
    if isinstance(point, OperatingPoint):
        found["controller"] = ((), float(point.controller), *_OF_LINKS["controller"])
        found["queue"] = ((), float(point.queue), *_OF_LINKS["queue"])
        delay = np.asarray(point.queue_delay, dtype=float)
        dims = ("band",) if delay.ndim else ()
        found["queue_delay"] = (dims, delay, *_OF_LINKS["queue_delay"])
    else:
        for name, about in _OF_LINKS.items():
            found[name] = (("link",), getattr(point, name).to_numpy().astype(float), *about)
    for name, about in _OF_CLASSES.items():
        found[name] = (("flows",), np.array(getattr(point, name), dtype=float), *about)
    labels = {"flows": list(network.class_names)}
    if not isinstance(point, OperatingPoint):
        labels["link"] = list(network.node_names)
    return xr.Dataset(
        {
            name: (dims, values, {"units": units, "long_name": text})
            for name, (dims, values, units, text) in found.items()
        },
        {
            name: (name, np.array(names, dtype=object), {"units": "1", "long_name": name})
            for name, names in labels.items()
        },
    )


@dataclass(frozen=True)
class Designs(_Pointwise):
    """A request to `tune`."""

    arguments: Mapping[str, Any]

    kind: ClassVar[str] = "tune"

    @classmethod
    def of(cls, request: Callable[..., Design]) -> Designs:
        """Return the question of `tune` itself, or of a `functools.partial` of it."""
        if not isinstance(request, functools.partial):
            return cls({})
        known = inspect.signature(tune)
        for name in request.keywords:
            if name not in known.parameters:
                raise QuantityError(
                    f"base gives tune {name}, which it has not: give"
                    f" {suggest(name, list(known.parameters))}."
                )
        given = known.bind_partial(*request.args, **request.keywords).arguments
        return cls({name: value for name, value in given.items() if name != "progress"})

    def dimension(self, name: str) -> str:
        """Return the dimension of an argument, or of a number in one."""
        if name in _REQUESTS:
            return _REQUESTS[name]
        if "." not in name:
            raise QuantityError(
                f"over varies {show_value(name)}, which tune has not: give"
                f" {suggest(name, list(_REQUESTS))}."
            )
        return _dimension_in(self.arguments, name, ("senders", "aqm"))

    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        """Return the numbers of a design."""
        arguments = dict(self.arguments)
        for name, value in values.items():
            arguments = _replaced(arguments, name, int(value) if name == "hz" else value)
        return _design_of(tune(**arguments)), frozenset()

    def describe(self) -> dict[str, str]:
        """Return the arguments."""
        return {"tune": repr(dict(sorted(self.arguments.items())))}


def _design_of(design: Design) -> Outcome:
    least = design.least
    numbers = {
        "alpha": (design.alpha, "Hz", "integral gain"),
        "beta": (design.beta, "Hz", "proportional gain"),
        "update_interval": (design.update_interval, "s", "time between updates"),
        "target": (design.target, "s", "target queue delay"),
        "gain_margin": (least.gain_margin_db, "dB", "smallest gain margin by either clock"),
        "phase_margin": (least.phase_margin_deg, "degree", "smallest phase margin by either clock"),
        "modulus_margin": (design.margins.modulus_margin, "1", "smallest |1 + L| by rates"),
        "rtt_limit": (design.rtt_limit, "s", "largest stable round-trip time"),
        "bandwidth": (design.bandwidth, "rad/s", "closed-loop bandwidth"),
        "settling_time": (design.settling_time, "s", "time to settle to 2 %"),
        "jitter_margin": (design.jitter_margin, "s", "how early or late updates may come"),
        "proved": (
            float(design.guarantee == "proved"),
            "1",
            "1 if the margins by rates are proved",
        ),
    }
    return scalars(**{name: ([float(x)], *about) for name, (x, *about) in numbers.items()})  # type: ignore[arg-type]


def question_of(base: object, engine: object, reduce: object) -> Question:
    """Return what is asked of a base.

    Raises
    ------
    QuantityError, ScenarioError, UnsupportedError
        If base, engine or function are none, or do not go together.
    """
    if isinstance(base, Scenario):
        chosen: Any = Fluid() if engine is None else engine
        require_engine(chosen)
        if not callable(reduce):
            raise QuantityError(
                f"reduce = {show_value(reduce)} is no function: give one that makes a Dataset of a"
                " Dataset, such as summarize."
            )
        seeds = tuple(seed_list(chosen.seeds)) if hasattr(chosen, "seeds") else ()
        return Runs(base, chosen, reduce, seeds)
    if engine is not None or reduce is not summarize:
        name, value = ("engine", engine) if engine is not None else ("reduce", reduce)
        raise UnsupportedError(
            f"{name} = {show_value(value)} goes with a Scenario, and base is"
            f" {show_value(base)}: leave it out."
        )
    if isinstance(base, Loop):
        return Loops.of(base)
    if isinstance(base, NetworkLoop):
        return NetworkLoops.of(base)
    if isinstance(base, Network):
        return Rests(base)
    if base is tune:
        return Designs.of(tune)
    if isinstance(base, functools.partial) and base.func is tune:
        return Designs.of(base)
    raise QuantityError(
        f"base = {show_value(base)} is nothing to sweep: give a Scenario, a Loop, a Network, or"
        ' functools.partial(tune, max_rtt="100ms").'
    )


def _with_all(network: Network, values: Mapping[str, Any]) -> Network:
    for name, value in values.items():
        network = replace_path(network, name, value)
    return network


def _network_text(network: Network) -> str:
    try:
        return network.to_toml()
    except UnsupportedError:  # laws of one's own have no name in a file
        return repr(network)


def _part_of(arguments: Mapping[str, Any], path: str, allowed: Sequence[str]) -> tuple[Any, str]:
    """Return the record among arguments that a path begins with, and the rest of the path."""
    head, _, rest = path.partition(".")
    value = arguments.get(head) if head in allowed else None
    if isinstance(value, Sequence) and not isinstance(value, str):
        place, _, rest = rest.partition(".")
        value = value[_place(value, place, path)]
    if not isinstance(value, Record) or not rest:
        known = [name for name in (*_NUMBERS, *allowed) if name in arguments]
        raise ScenarioError(
            f"over varies {show_value(path)}, which base has not: give"
            f' {suggest(path, known)}, or a path such as "aqm.alpha".'
        )
    return value, rest


def _place(parts: Sequence[Any], place: str, path: str) -> int:
    names = [] if any(isinstance(part, Sender) for part in parts) else list(class_names(parts))
    if place in names:
        return names.index(place)
    if not place.isdecimal() or int(place) >= len(parts):
        raise ScenarioError(
            f"the path {show_value(path)} has {place!r} where a place from 0 to {len(parts) - 1}"
            " belongs."
        )
    return int(place)


def _dimension_in(arguments: Mapping[str, Any], path: str, allowed: Sequence[str]) -> str:
    return dimension_at(*_part_of(arguments, path, allowed))


def _replaced(arguments: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return arguments with another value of one, or of a number in one."""
    if "." not in path:
        return {**arguments, path: value}
    head, _, rest = path.partition(".")
    record, inside = _part_of(arguments, path, (head,))
    changed: Any = replace_path(record, inside, value)
    if arguments[head] is not record:
        parts = list(arguments[head])
        parts[_place(parts, rest.partition(".")[0], path)] = changed
        changed = tuple(parts)
    return {**arguments, head: changed}


def _described(function: Callable[..., object]) -> str:
    """Return a function as text: its name, its source as far as there is one, its arguments."""
    if isinstance(function, functools.partial):
        given = ", ".join(
            [*map(repr, function.args), *(f"{k}={v!r}" for k, v in function.keywords.items())]
        )
        return f"{_described(function.func)}({given})"
    name = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"
    if name.startswith("pi2_fluid."):
        return name
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return name
    return f"{name} {hashlib.sha256(source.encode()).hexdigest()[:16]}"
