"""Whether there is a kernel that guests can boot."""

from __future__ import annotations

import pi2_fluid as pf
from pi2_fluid.engines.linux.kernels import find_kernel


def why_no_kernel() -> str:
    """Return why guests cannot run here; "" if they can."""
    try:
        find_kernel()
    except pf.UnsupportedError:
        return "no kernel is cached: make linux-test builds one"
    return ""
