"""Clusters: a scheduler of Dask that is found by its address, and what its workers must have."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final
from urllib.parse import urlsplit

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.sweeping.running import Client

_PACKAGE: Final = "pi2-fluid"
_SCHEMES: Final = ("tcp", "tls", "ws", "wss")
_SECONDS: Final = 10.0  # for an answer of the scheduler


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler, and leave it again.

    Parameters
    ----------
    address : str
        As ``dask scheduler`` prints it, such as ``"tcp://host:8786"``.

    Yields
    ------
    dask.distributed.Client
        Which `sweep` takes.

    Raises
    ------
    QuantityError
        If that is no address, or no scheduler answers there within ten seconds.
    """
    shown = f"scheduler = {show_value(address)}"
    whole = _whole(address)
    if not whole:
        raise QuantityError(
            f'{shown} is no address: give one as "dask scheduler" prints it, e.g. tcp://host:8786.'
        )
    distributed: Any = import_module("distributed")  # typed in part
    try:
        # A client that finds nobody complains once more when it is forgotten: ask beforehand.
        kind = asyncio.run(_kind(whole))
    except OSError:
        raise QuantityError(
            f"{shown} does not answer within {_SECONDS:g} s: look whether it runs and can be"
            ' reached from here, or start one with "dask scheduler".'
        ) from None
    if kind != "Scheduler":
        raise QuantityError(
            f"{shown} is a {kind.lower()} of Dask, no scheduler: give the address that"
            ' "dask scheduler" prints.'
        )
    client = distributed.Client(whole, timeout=_SECONDS)
    try:
        yield client
    finally:
        # What still tries to reach a scheduler that is gone would log how that ended.
        with distributed.utils.silence_logging_cmgr(logging.CRITICAL):
            client.close()


def _whole(address: str) -> str:
    """Return an address with its scheme, or nothing if it is none."""
    text = address if "://" in address else f"tcp://{address}"
    try:
        parts = urlsplit(text)
        whole = parts.scheme in _SCHEMES and parts.hostname and parts.port
    except ValueError:  # ports that are no numbers, or too large
        return ""
    return text if whole and text == f"{parts.scheme}://{parts.netloc}" else ""


async def _kind(address: str) -> str:
    """Return what answers at an address."""
    core: Any = import_module("distributed.core")  # typed in part
    security: Any = import_module("distributed.security")
    given = security.Security().get_connection_args("client")
    async with core.rpc(address, timeout=_SECONDS, connection_args=given) as remote:
        found: str = (await asyncio.wait_for(remote.identity(), _SECONDS))["type"]
        return found


def require_same_version(client: Client) -> None:
    """Raise UnsupportedError if a worker has another version of this package, or none."""
    here = version(_PACKAGE)
    for worker, found in client.run(version, _PACKAGE, on_error="return").items():
        if found == here or (isinstance(found, Exception) and not _lacks(found)):
            continue
        has = "no pi2-fluid" if _lacks(found) else f"pi2-fluid {found}"
        raise UnsupportedError(
            f"the worker {worker} has {has}, and here is {here}: install the same there."
        )


def _lacks(found: object) -> bool:
    return isinstance(found, PackageNotFoundError)
