"""Runs of packets that are complete: a figure or a verdict of fewer seeds would be another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray

__all__ = ["uninterrupted"]


def uninterrupted(runs: xarray.Dataset) -> xarray.Dataset:
    """Return the result of `packet.simulate` as it is, if every seed was finished.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came meanwhile, of which `packet.simulate` makes a result of fewer seeds.
    """
    if runs.attrs["interrupted"]:
        raise KeyboardInterrupt
    return runs
