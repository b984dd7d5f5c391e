"""`Observation`: one device at one instant, with its tree of queues and the rates in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pi2_fluid.tc.block import Block
from pi2_fluid.tc.observing.rates import SHAPERS, ShapedClass, as_rate, place_of

#: Where a text comes from: printed by tc, typed as a command, or the configuration of a program.
Source: TypeAlias = Literal["printed", "typed", "configuration"]
#: What tells a device from others: its machine, its network namespace and its name.
Where: TypeAlias = tuple[str | None, str | None, str | None]


@dataclass(kw_only=True)
class Observation:
    """One device at one instant.

    Parameters
    ----------
    dev : str or None
        Its name, also from the text around what tc printed; None where nothing says it.
    namespace, host : str or None
        Its network namespace and its machine, where the text says them.
    time : float or None
        When it was (s, since 1970 where the text has a date), if the text has a time.
    source : {"printed", "typed", "configuration"}
        Where its text comes from.
    told : bool
        Whether its device is known from the text around alone.
    blocks : list of Block
        Its queues, in the order of the text.
    classes : dict of str to ShapedClass
        The classes of shapers, by their names.
    """

    dev: str | None = None
    namespace: str | None = None
    host: str | None = None
    time: float | None = None
    source: Source = "printed"
    told: bool = False
    blocks: list[Block] = field(default_factory=list)
    classes: dict[str, ShapedClass] = field(default_factory=dict)
    _places: set[tuple[str | None, str]] = field(default_factory=set, repr=False, compare=False)

    @property
    def where(self) -> Where:
        """What tells its device from others."""
        return self.host, self.namespace, self.dev

    def add(self, block: Block) -> bool:
        """Add a queue; False, and nothing is added, where there is one in its place already."""
        place = (block.parent, "" if block.parent == "root" else block.handle)
        if place in self._places:
            return False
        self._places.add(place)
        self.blocks.append(block)
        return True

    def rate_above(self, block: Block) -> float | None:
        """Return the least of the rates that stand above a queue (bit/s); None if there is none.

        These are the ceilings of classes of htb and the rates of tbf, netem and cake, up to the
        root; of a cake that is `block` its own.

        Examples
        --------
        >>> from pi2_fluid.tc.observing import observe
        >>> text = '''
        ... tc qdisc add dev eth0 root handle 1: htb default 10
        ... tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit ceil 6mbit
        ... tc qdisc add dev eth0 parent 1:10 pie
        ... '''
        >>> (seen,) = observe(text).observations
        >>> seen.rate_above(seen.blocks[-1])
        6000000.0
        """
        rates = [_rate_of(block)] if block.kind == "cake" else []
        handle_above, passed = place_of(block.parent or ""), set[str]()
        while ":" in handle_above and handle_above not in passed:
            passed.add(handle_above)
            shaped = self.classes.get(handle_above)
            if shaped is not None:
                rates.append(shaped.rate)
            if shaped is not None and ":" in shaped.parent:
                handle_above = shaped.parent
                continue
            handle = f"{handle_above.partition(':')[0]}:"
            owner = next((one for one in self.blocks if place_of(one.handle) == handle), None)
            if owner is None:
                break
            rates.append(_rate_of(owner))
            handle_above = place_of(owner.parent or "")
        return min((rate for rate in rates if rate is not None), default=None)


def _rate_of(block: Block) -> float | None:
    return as_rate(block.words.get(SHAPERS.get(block.kind, ""), ""))
