"""The typed errors of the package: each says in one sentence the value, the range, the remedy."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import FrameType
from typing import Any, Final, TypeVar

_LONGEST: Final = 64
_quiet: Final = ContextVar("quiet", default=False)  # each thread has its own
_F = TypeVar("_F", bound=Callable[..., Any])


def show_value(value: object) -> str:
    """Return the `repr` of what a caller gave, on one line and cut where it gets long.

    Examples
    --------
    >>> show_value("5 parsecs"), show_value(list(range(99)))
    ("'5 parsecs'", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 1...')
    """
    try:
        text = repr(value)
    except ValueError:  # Python prints no integer of more than 4300 digits
        return f"{type(value).__name__} (too long to print)"
    text = " ".join(line.strip() for line in text.split("\n"))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def suggest(word: object, known: Collection[str], most: int = 16) -> str:
    """Return which of the known names to give instead of an unknown word, for messages.

    Those that contain the word or look like it; if there are none, all, but `most` at most.

    Examples
    --------
    >>> suggest("capcity", ["capacity", "buffer"])
    "'capacity'"
    >>> suggest("speed", ["capacity", "buffer"])
    "one of 'capacity', 'buffer'"
    """
    asked = word.lower() if isinstance(word, str) else ""
    close = [name for name in known if len(asked) > 1 and asked in name]
    close = close or difflib.get_close_matches(asked, known)
    names = [repr(name) for name in close or known]
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ("one of " * (not close and len(names) > 1)) + (" or " if close else ", ").join(
        names[:most] + more
    )


class QuantityError(ValueError):
    """Something that is not a usable number: wrong type, wrong unit, NaN or infinite.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> pf.Link("10Mbyte/s")
    Traceback (most recent call last):
    pi2_fluid.errors.QuantityError: Link capacity = '10Mbyte/s' has the unit 'Mbyte/s': give a
    rate such as "10Mbit/s", in one of bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, b/s, kb/s, Mb/s,
    Gb/s, Mbps, Gbps, bit, kbit, mbit, Mbit, gbit, Gbit.
    """


class DomainError(ValueError):
    """A number outside the domain of the model: p > 1, alpha = 0 with beta > 0, no solution.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> pf.Reno(decrease=1.5)
    Traceback (most recent call last):
    pi2_fluid.errors.DomainError: Reno decrease = 1.5 is outside (0, 1]: give a number without
    unit such as 0.5.
    """


class ScenarioError(ValueError):
    """A description of flows, queue and link that contradicts itself.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> pf.Flows(pf.Reno(), 10, "80ms", hops="90ms")
    Traceback (most recent call last):
    pi2_fluid.errors.ScenarioError: Flows hops take 90ms, longer than base_rtt = 80ms: shorten
    them, or raise base_rtt.
    """


class UnsupportedError(TypeError):
    """A combination for which this package has no answer.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> pf.Loop(pf.Reno(), pf.CoDel(), rtt="100ms", p=0.01)
    Traceback (most recent call last):
    pi2_fluid.errors.UnsupportedError: CoDel decides packet by packet from the time since its last
    drop and has no honest fluid form, so neither fluid nor loop can run it: use a packet-level
    simulation.
    """


class SolverError(RuntimeError):
    """A numerical method did not reach its tolerance, or a simulator did not finish.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> class Restless(pf.Reno):  # its window only grows, and has no state of rest
    ...     def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
    ...         return 1.0 / rtt
    >>> pf.equilibrium_of(Restless(), pf.Pi2(), rtt="100ms", p=0.01)
    Traceback (most recent call last):
    pi2_fluid.errors.SolverError: Restless is at rest at no window between 1e-09 and 1e+307
    segments and grows at all of them, for p = 0.01, rtt = 0.1 s: check its rate().
    """


class BuildError(RuntimeError):
    """Something could not be fetched or built: no network, a missing tool, a failing compiler.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> issubclass(pf.BuildError, RuntimeError)
    True
    """


class WriteError(OSError):
    """A file could not be written to its end, as on a full disk. An old file stays as it was.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> issubclass(pf.WriteError, OSError)
    True
    """

    def __str__(self) -> str:
        """Return the sentence, without the number in front of it."""
        return str(self.strerror)


class AssumptionWarning(UserWarning):
    """The numbers are returned, but an assumption behind the model does not hold.

    Examples
    --------
    >>> import warnings
    >>> import pi2_fluid as pf
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="20ms", p=0.01)
    >>> print(said[0].message)
    update_interval = 0.032 s exceeds the round-trip time 0.02 s, so only the exact
    update="sampled" describes the loop: shorten T.
    """


def renamed(**names: str) -> Callable[[_F], _F]:
    """Let a function refuse arguments by the names that they once had, with the new ones.

    Raises
    ------
    QuantityError
        When the function is called with one of them.

    Examples
    --------
    >>> @renamed(mode="update")
    ... def margins(update="continuous"):
    ...     return update
    >>> margins(mode="sampled")
    Traceback (most recent call last):
    pi2_fluid.errors.QuantityError: mode = 'sampled' is now called update: give update='sampled'.
    """

    def wrap(function: _F) -> _F:
        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            for old, new in names.items():
                if old in given:
                    value = show_value(given[old])
                    raise QuantityError(f"{old} = {value} is now called {new}: give {new}={value}.")
            return function(*args, **given)

        return call  # type: ignore[return-value]

    return wrap


def warn_of(
    text: str, category: type[Warning] = AssumptionWarning, past: tuple[str, ...] = ()
) -> None:
    """Warn of an assumption, in the name of the first caller outside this package.

    `past` are other packages that stand between.
    """
    if _quiet.get() and issubclass(category, AssumptionWarning):
        return
    warnings.warn(text, category, stacklevel=_stacklevel(("pi2_fluid", *past)))


@contextmanager
def quietly() -> Iterator[None]:
    """Warn of no assumption within, in this thread alone.

    Python's own `warnings.catch_warnings` is of all threads before 3.14, and sweeps have several.
    """
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def _stacklevel(packages: tuple[str, ...]) -> int:
    """Of the first caller outside some packages, whichever door it came through."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_within(frame, packages):
        level, frame = level + 1, frame.f_back
    return level


def _is_within(frame: FrameType, packages: tuple[str, ...]) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    made = frame.f_code.co_filename == "<string>"  # the __init__ of a dataclass, of an own law, say
    return name.partition(".")[0] in packages or (made and frame.f_code.co_name == "__init__")


def given_by_caller(value: object) -> bool:
    """Return whether who calls the package gave this very object to the door it came through.

    What is only handed on within, having been read before, is not.

    Examples
    --------
    >>> given_by_caller(1.5)
    False
    """
    within = ("pi2_fluid", "dataclasses")
    door = sys._getframe(1)
    frame: FrameType | None = door
    while frame is not None and _is_within(frame, within):
        door, frame = frame, frame.f_back
    given: list[object] = []
    for part in door.f_locals.values():
        given += [part, *(part if type(part) is tuple else ())]
        given += part.values() if type(part) is dict else ()
    return any(part is value for part in given)
