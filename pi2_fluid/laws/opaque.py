"""Laws without equations here, which one engine alone can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.records.record import declares

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender


def no_equations(law: Aqm | Sender) -> UnsupportedError:
    """Return what to raise where a law is asked for equations that it does not have."""
    other = "Cubic()" if hasattr(law, "signal") else "Pi2()"
    return UnsupportedError(
        f"{law!r} is the kernel's own, without equations here: run it with the engine"
        f" {law.only_in}, or give a law that has some, such as {other}."
    )


def require_equations(*laws: Aqm | Sender) -> None:
    """Refuse laws that have none, with the engine that runs them; a subclass is another law.

    Raises
    ------
    UnsupportedError
        Naming the first one.
    """
    for law in laws:
        if declares(law, "only_in"):
            raise no_equations(law)
