"""TCP and active queue management: loops, margins, trajectories, packets.

    >>> import pi2_fluid as pf
    >>> loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    >>> print(f"{loop.margins().gain_margin_db:.2f} dB")
    4.70 dB

Names are loaded on first use: importing the package alone costs next to nothing. Which
there are, and where each comes from, is in the stub beside this file, that type checkers read.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from pi2_fluid.missing import MissingFinder

sys.meta_path.append(MissingFinder())


def _exports() -> dict[str, str]:
    """Return where the stub imports each name from, by lines "from module import name as name"."""
    lines = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
    words = (line.split() for line in lines if line.startswith("from "))
    return {name: module for _, module, _, name, *_ in words}


_EXPORTS = _exports()

__all__ = [*_EXPORTS, "__version__"]  # noqa: PLE0604  names are strings


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pi2-fluid")
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = _EXPORTS[name]
    # Of this package itself, and of rooms whose own face does not name them, they are modules.
    value = None if place == __name__ else getattr(import_module(place), name, None)
    if value is None:
        value = import_module(f"{place}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
