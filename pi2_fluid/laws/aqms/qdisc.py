"""A queue discipline of the Linux kernel that has no equations here: its name and its options."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from pi2_fluid.errors import QuantityError, UnsupportedError, suggest
from pi2_fluid.laws.kernel.qdiscs import QDISCS, Value, validate_option
from pi2_fluid.laws.opaque import no_equations
from pi2_fluid.laws.packets_only import PacketsOnly
from pi2_fluid.records.record import beside, choice
from pi2_fluid.units import validate_choice


def _declared(law: Qdisc) -> dict[str, dataclasses.Field[Any]]:
    return {word: option.field for word, option in QDISCS[law.name].items()}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Qdisc(PacketsOnly):
    """A queue discipline of the Linux kernel that has no equations here.

    Parameters
    ----------
    name : {"fq_codel", "fq_pie", "cake", "fq", "sfq"}
        What tc calls it.
    options : keywords, or a mapping
        By tc's words, as text with a unit or in SI: the reference has a table of them. What is
        left out is as the kernel has it by itself. In text they stand beside the name. How many
        packets it holds is `buffer` of the link, and no option.

    Raises
    ------
    QuantityError, DomainError
        If an option is not what it may be.
    ScenarioError
        If there is no such option, with those that there are.

    Notes
    -----
    Nothing is known of it but what the kernel does: no fluid, no loop and no packets here run it,
    and every method raises `UnsupportedError`. Where the kernel keeps one queue for each flow,
    what is measured is still all of it: delays of packets, and what is dropped and marked.

    Examples
    --------
    >>> queue = Qdisc("fq_codel", target="5ms", flows=16)
    >>> queue
    Qdisc('fq_codel', target=0.005, flows=16.0)
    >>> dict(queue.options)["target"]
    0.005
    """

    only_in: ClassVar = "Linux()"
    queues_flows: ClassVar = True  # as far as is known

    name: str = choice(None, tuple(QDISCS), optional=False)
    options: tuple[tuple[str, Value], ...] = beside("options of tc", _declared)
    """Those that were given, by their words, in the order of the reference."""

    def __init__(
        self,
        name: str | None = None,
        *,
        options: Mapping[str, object] | tuple[tuple[str, Value], ...] = (),
        **more: object,
    ) -> None:
        # `replace` hands over the old ones as `options`; what stands beside them is newer.
        if name is None:
            raise QuantityError(f"Qdisc name = None is missing: give {suggest('', QDISCS)}.")
        validate_choice(name, tuple(QDISCS), "Qdisc name")
        given = {**dict(options), **more}
        found = {word: validate_option(name, word, value) for word, value in given.items()}
        order = [word for word in QDISCS[name] if found.get(word) is not None]
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", tuple((word, found[word]) for word in order))
        self.__post_init__()

    def __repr__(self) -> str:
        options = [f"{word}={value!r}" for word, value in self.options]
        return f"Qdisc({', '.join([repr(self.name), *options])})"

    def without_fluid(self) -> UnsupportedError:
        """Return that it has no equations."""
        return no_equations(self)

    packet_parameters = PacketsOnly._refuse
