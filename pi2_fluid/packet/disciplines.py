"""Queue disciplines of the kernel, as numbers."""

from __future__ import annotations

from pi2_fluid.model.aqm import Aqm

__all__ = ["discipline_of"]


def discipline_of(aqm: Aqm) -> tuple[str, list[float]]:
    """Return the name of the discipline in the kernel, and its parameters."""
    return ("dualpi2", []) if aqm.bands == 2 else ("taildrop", [])
