"""Congestion controls of the kernel, as numbers."""

from __future__ import annotations

from pi2_fluid.model.sender import Sender

__all__ = ["congestion_of"]


def congestion_of(sender: Sender) -> tuple[str, list[float]]:
    """Return the name of the congestion control in the kernel, and its parameters."""
    return ("cubic", []) if sender.kernel == "cubic" else (str(sender.kernel), [0.5])
