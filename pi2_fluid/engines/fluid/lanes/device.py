"""The device that JAX computes lanes on: how its loops are made, and how many lanes it holds.

On a CPU a chunk is best when it stays in the cache, and loops cost nothing. Elsewhere the host
starts every operation of every step, which takes it some microseconds however many lanes there are:
there the lanes are as many as fit, and a loop has a length that the host knows beforehand, so that
it need not wait for the device to say that there is a next step.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from jax import numpy as jnp

#: Lanes that go side by side on a CPU; measured: 256 to 2,048 differ by less than a tenth.
IN_CACHE: Final = 512

_SHARE: Final = 0.75  # of the memory that is free: allocators want some room
_MOST: Final = 2**20  # lanes, for the sake of progress: more of them are hardly faster
_UNTOLD: Final = 2**17  # lanes where a device does not tell its memory
_GRAIN: Final = 4  # bits of a number of lanes that count, so that few are ever compiled


class Device(NamedTuple):
    """What computes."""

    is_cpu: bool
    memory: int | None = None
    """Bytes that are free; None if it does not say."""


def this_device() -> Device:
    """Return the device on which JAX puts arrays unless told otherwise."""
    (device,) = jnp.zeros(()).devices()
    told = device.memory_stats() or {}
    limit = told.get("bytes_limit")
    memory = None if limit is None else max(0, limit - told.get("bytes_in_use", 0))
    return Device(device.platform == "cpu", memory)


def lanes_at_once(device: Device, lanes: int, bytes_each: int) -> int:
    """Return how many of a number of lanes go side by side on what is no CPU: equal shares.

    Parameters
    ----------
    device : Device
        What computes.
    lanes : int
        All there are.
    bytes_each : int
        Memory that a lane takes.
    """
    fit = _UNTOLD if device.memory is None else int(_SHARE * device.memory) // bytes_each
    fit = max(1, min(fit, _MOST))
    share = -(-lanes // -(-lanes // fit))
    grain = 1 << max(0, share.bit_length() - _GRAIN)
    return min(fit, -(-share // grain) * grain)
