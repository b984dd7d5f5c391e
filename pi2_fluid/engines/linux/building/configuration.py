"""What a guest's kernel is made with: options wanted and found, qdiscs, congestion controls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pi2_fluid.errors import UnsupportedError

#: The options that are asked for beyond User-Mode Linux's own.
FRAGMENT: Final = Path(__file__).parents[1] / "guest" / "uml.config"

#: What no guest can do without, and what it is for.
NEEDED: Final[Mapping[str, str]] = {
    "UML_TIME_TRAVEL_SUPPORT": "virtual time",
    "HIGH_RES_TIMERS": "exact timers",
    "HOSTFS": "the guest's files",
    "NET_NS": "the nodes",
    "VETH": "the wires",
    "PACKET": "the taps",
    "NET_SCH_HTB": "the link's rate",
    "NET_SCH_NETEM": "the round-trip times",
    "NET_SCH_PIE": "PIE",
    "NET_SCH_DUALPI2": "PI2 and DualPI2",
    "TCP_CONG_DCTCP": "DCTCP",
}

_WITHOUT_OPTION: Final = ("pfifo", "bfifo", "pfifo_fast", "noqueue")
#: Qdiscs by their options where these are named otherwise.
_QDISCS: Final[Mapping[str, tuple[str, ...]]] = {"INGRESS": ("ingress", "clsact")}
_NO_QDISCS: Final = {"FIFO", "DEFAULT", "MQPRIO_LIB"}
#: Congestion controls by their options where these are named otherwise.
_CONTROLS: Final[Mapping[str, str]] = {"HSTCP": "highspeed"}
_NO_CONTROLS: Final = {"ADVANCED"}


def options_of(text: str) -> dict[str, str]:
    r"""Return the options that a configuration sets, or asks for, with their values.

    Parameters
    ----------
    text : str
        Of a ``.config``, or a part of one.

    Examples
    --------
    >>> options_of("CONFIG_NET=y\n# CONFIG_IPV6 is not set\nCONFIG_HZ=1000\n")
    {'NET': 'y', 'IPV6': 'n', 'HZ': '1000'}
    """
    found = {}
    for line in text.splitlines():
        given = re.fullmatch(r"CONFIG_(\w+)=(.*)|# CONFIG_(\w+) is not set", line.strip())
        if given:
            found[given[1] or given[3]] = "n" if given[3] else given[2]
    return found


def merged(base: str, fragment: str) -> str:
    r"""Return a configuration in which what the fragment says has the last word.

    Examples
    --------
    >>> merged("CONFIG_NET=y\nCONFIG_IPV6=y\n", "# CONFIG_IPV6 is not set\n")
    'CONFIG_NET=y\n# CONFIG_IPV6 is not set\n'
    """
    said = options_of(fragment)
    kept = [line for line in base.splitlines() if not options_of(line).keys() & said.keys()]
    return "\n".join([*kept, fragment])


def require_options(config: str, release: str) -> None:
    """Refuse a configuration in which something is missing that no guest can do without.

    Raises
    ------
    UnsupportedError
        With the first of what is missing.
    """
    found = options_of(config)
    for name, purpose in NEEDED.items():
        if found.get(name) != "y":
            raise UnsupportedError(
                f"the source of Linux {release} has no CONFIG_{name} for User-Mode Linux, which"
                f" guests need for {purpose}: build another, e.g. pi2-fluid linux build."
            )


def qdiscs_of(config: str) -> tuple[str, ...]:
    r"""Return the queue disciplines of a kernel, as tc calls them.

    Examples
    --------
    >>> qdiscs_of("CONFIG_NET_SCH_FQ_PIE=y\n# CONFIG_NET_SCH_DUALPI2 is not set\n")
    ('bfifo', 'fq_pie', 'noqueue', 'pfifo', 'pfifo_fast')
    """
    found = [*_WITHOUT_OPTION]
    for name in _set_with(config, "NET_SCH_"):
        if name not in _NO_QDISCS:
            found += _QDISCS.get(name, (name.lower(),))
    return tuple(sorted(found))


def congestion_controls_of(config: str) -> tuple[str, ...]:
    r"""Return the congestion controls of a kernel, as TCP_CONGESTION calls them.

    Examples
    --------
    >>> congestion_controls_of("CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_HSTCP=y\n")
    ('highspeed', 'reno')
    """
    names = [name for name in _set_with(config, "TCP_CONG_") if name not in _NO_CONTROLS]
    return tuple(sorted(["reno", *(_CONTROLS.get(name, name.lower()) for name in names)]))


def _set_with(config: str, start: str) -> list[str]:
    found = options_of(config)
    return [
        name.removeprefix(start)
        for name, value in found.items()
        if name.startswith(start) and value == "y"
    ]
