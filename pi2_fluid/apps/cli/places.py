"""Where the loop of `pi2-fluid margins` is: flows that share a link, or a load by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import QuantityError

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.loop import Loop

#: Options that say which flows share which link; and those that say a load by itself.
LINK: Final = ("flows", "rate", "path")
LOAD: Final = ("rtt", "p", "p_prime")
DIMENSIONS: Final = {"flows": "number", "rate": "rate", "path": "time"}


def read_place(options: Mapping[str, str | None]) -> dict[str, str]:
    """Return which flows share which link, or at which load they are.

    Raises
    ------
    QuantityError, DomainError
        If it is both, or a part of one, or a number is none.
    """
    from pi2_fluid.units import validate_number

    place = {name: value for name, value in options.items() if value is not None}
    link, load = ([name for name in names if name in place] for names in (LINK, LOAD))
    if link and load:
        raise QuantityError(
            f"{shown(link[0])} and {shown(load[0])} are both given: give --flows, --rate and"
            " --path, or --rtt and one of --p and --p-prime."
        )
    if not load:
        missing = [shown(name) for name in LINK if name not in place]
        if missing:
            raise QuantityError(
                f"{' and '.join(missing)} missing: give all three of --flows, --rate and --path, as"
                " --flows 10 --rate 20Mbit/s --path 40ms; or --rtt and one of --p and --p-prime; or"
                " a file."
            )
        for name, dimension in DIMENSIONS.items():
            validate_number(place[name], dimension, name, closed=name == "path")
        return place
    if "rtt" not in place:
        raise QuantityError("--rtt is missing: give the round-trip time, e.g. --rtt 100ms.")
    if ("p" in place) == ("p_prime" in place):
        raise QuantityError(
            "the load is exactly one of --p and --p-prime: give e.g. --p-prime 0.1."
        )
    return place


def shown(name: str) -> str:
    """Return an argument as the option that it is."""
    return f"--{name.replace('_', '-')}"


def loop_at(
    who: Sender,
    queue: Aqm,
    place: Mapping[str, str],
    *,
    rtt_terms: str,
    update: str,
    clock: str,
    bunch: float,
) -> Loop:
    """Return the loop of flows on a link, or at a load."""
    from pi2_fluid.loop.transfer import Loop
    from pi2_fluid.network.flows import Flows

    model: dict[str, Any] = {"update": update, "clock": clock, "bunch": bunch}
    if "rate" not in place:
        return Loop(who, queue, **place, rtt_terms=rtt_terms, **model)
    several = Flows(who, place["flows"], place["path"])
    return Loop(several, queue, capacity=place["rate"], rtt_terms=rtt_terms, **model)
