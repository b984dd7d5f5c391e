"""`Block`: a queue as tc prints it, or is asked for it, with what could not be read of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.tc.options import KINDS


@dataclass(kw_only=True)
class Block:
    """A queue as printed.

    `dev` may be known from the text around it, and so may `namespace`; `order` is its place among
    the queues of a text. `options` are those of the kinds of `KINDS`; of others there are the
    `words` of a line, or the keys of an object, as they stand. `step_packets` is a step_thresh that
    counts packets, which no law here has. `trouble` is why it cannot be read.

    Of one that is `proposed` the `options` are what tc would ask the kernel for, whole numbers of
    its units; `exact` is what stood behind those that were cut, and `named` what the line says.
    """

    kind: str
    handle: str
    dev: str | None = None
    namespace: str | None = None
    order: int = 0
    parent: str | None = None
    gone: bool = False
    offloaded: bool = False
    options: dict[str, float] = field(default_factory=dict)
    step_packets: int | None = None
    words: dict[str, Any] = field(default_factory=dict)
    statistics: dict[str, Any] | None = None
    trouble: QuantityError | DomainError | None = None
    proposed: bool = False
    exact: dict[str, float] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What to call it in messages."""
        where = f" dev {self.dev}" if self.dev else ""
        where += f" in {self.namespace}" if self.namespace else ""
        return f"{self.kind} {self.handle}{where}" if self.handle else f"{self.kind}{where}"

    @property
    def ours(self) -> bool:
        """Whether it is of a kind that is read here, and there."""
        return self.kind in KINDS and not self.gone


@contextmanager
def noting(block: Block) -> Iterator[None]:
    """Keep what goes wrong with a block, the first of it."""
    try:
        yield
    except (QuantityError, DomainError) as error:
        block.trouble = block.trouble or error
