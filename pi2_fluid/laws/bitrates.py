"""Rates in bit/s as senders count them: in segments, of which they are told the size."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, TypeVar

import numpy as np

from pi2_fluid.errors import ScenarioError, show_value
from pi2_fluid.ops import Number
from pi2_fluid.units import is_traced, validate_quantity


class _Told(Protocol):
    """A sender that may know how large segments are."""

    @property
    def packet_size(self) -> Number | None:
        """Bytes per segment."""


T = TypeVar("T", bound=_Told)


def with_packet_size(sender: T, packet_size: Number) -> T:
    """Return a sender for segments of so many bytes.

    Raises
    ------
    ScenarioError
        If it has another packet size: a link's is what segments are counted in.
    """
    size, own = validate_quantity(packet_size, "size", "packet_size"), sender.packet_size
    if own is None:
        record: Any = sender
        told: T = dataclasses.replace(record, packet_size=size)
        return told
    if not (is_traced(size) or is_traced(own)) and np.any(np.not_equal(own, size)):
        raise ScenarioError(
            f"{type(sender).__name__} packet_size = {show_value(own)} B is not the link's"
            f" {show_value(size)} B, in which segments are counted: leave it out, and give Flows"
            f' packet_size = "{own:g}B" if its packets are smaller.'
        )
    return sender


def segments_per_second(sender: _Told, name: str, rate: Number) -> Number:
    """Return a rate (bit/s), which is the sender's field `name`, in segments/s.

    Raises
    ------
    ScenarioError
        If the sender does not know how large they are.
    """
    if sender.packet_size is None:
        raise ScenarioError(
            f"{type(sender).__name__} {name} = {show_value(rate)} bit/s is no number of segments"
            " without a packet size: give packet_size, or use on_link(packet_size)."
        )
    return rate / (8.0 * sender.packet_size)
