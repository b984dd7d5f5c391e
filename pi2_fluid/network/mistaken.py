"""What is given as a scenario and is what tc shows of queues, and keys by other names."""

from __future__ import annotations

import re
from typing import Final

#: What to do with it, behind its name.
OF_TC: Final = (
    "is what tc shows of queues, and no scenario: pi2-fluid check, or pf.check(text), judges it."
)
#: What others call a key, and its name here.
MEANT: Final = {
    "rate": "capacity",
    "bandwidth": "capacity",
    "speed": "capacity",
    "delay": "base_rtt",
    "latency": "base_rtt",
    "path": "base_rtt",
    "rtt": "base_rtt",
    "limit": "buffer",
    "queue": "buffer",
}
_BEGINS: Final = re.compile(r"\s*((tc )?qdisc \w|\[\s*\{\s*\"kind\")")


def is_of_tc(text: str) -> bool:
    r"""Return whether a text begins as tc's does.

    Examples
    --------
    >>> is_of_tc("qdisc pie 8001: dev eth0 root"), is_of_tc('[aqm]\\nkind = "pie"')
    (True, False)
    """
    return _BEGINS.match(text) is not None
