"""The guest's program without a guest: on the kernel of this machine, in real time.

Its namespaces are the program's own, of users, processes, files and networks, so that it needs no
right and touches nothing. What it measures depends on what else the machine does: it says whether
something is plausible, and no more.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from typing import Final

from pi2_fluid.engines.linux.boot import Machine, run_guests
from pi2_fluid.engines.linux.guests import guest_program
from pi2_fluid.errors import SolverError, UnsupportedError

_COMMAND: Final = ("unshare", "-rnmpf", "--kill-child", "chroot", ".", "/init", "shared")
_ELSEWHERE: Final = "use a kernel of its own (pi2-fluid linux build), or Packets()"
#: What the program says when the kernel knows no qdisc, filter or congestion control of a name.
_MISSING: Final = re.compile(r"(No such file or directory|Operation not supported)")


def host_machine() -> Machine:
    """Return what runs the guest's program on this machine's kernel."""
    return Machine(_COMMAND, guest_program(), None, 0)


def host_release() -> str:
    """Return the version of this machine's kernel."""
    return platform.release()


def require_host(plan: str) -> None:
    """Refuse to run where namespaces or what a plan asks of the kernel are missing.

    The plan is tried without its flows, which takes a tenth of a second.

    Raises
    ------
    UnsupportedError
        With what is missing.
    """
    if platform.system() != "Linux" or shutil.which(_COMMAND[0]) is None:
        raise UnsupportedError(
            f"host = True needs Linux and the program unshare of util-linux: {_ELSEWHERE}."
        )
    tried = subprocess.run(
        [*_COMMAND[:4], "/", "/bin/true"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        raise UnsupportedError(
            f"host = True needs namespaces of users, which this machine does not allow"
            f" ({tried.stderr.strip()}): {_ELSEWHERE}."
        )
    kept = [line for line in plan.splitlines() if not line.startswith(("rest", "flow", "run"))]
    probe = "\n".join([*kept, "run 0.01 0.002 1"]) + "\n"
    try:
        run_guests(host_machine(), {0: probe}, 1, 0.01, lambda _, __: {}, None)
    except SolverError as error:
        told = str(error)
        if _MISSING.search(told):
            raise UnsupportedError(
                f"Linux {host_release()} on this machine lacks what the scenario needs"
                f" ({_reason(told)}): load its modules (modprobe sch_netem sch_prio sch_htb sch_pie"
                f" ...), or {_ELSEWHERE}."
            ) from error
        raise


def _reason(told: str) -> str:
    return told.partition("failed: ")[2].partition(";")[0]
